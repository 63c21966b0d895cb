// DataSurvey checks once that all numbers of the data are usable, and computes the total sum of squares of y.
// Curve fits use it.
#pragma once

#include <nlsq/column.hpp>
#include "rows/residual_form.hpp"

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace nlsq::inline v0 {

// The condition that numbers of a column must satisfy, besides being finite.
enum class Wanted : std::uint8_t { any, positive, not_negative };
bool all_usable(const double* values, std::size_t count, Wanted wanted);

// Adds up Σw², the weighted mean ȳ of y, and Σw²(y - ȳ)². The mean is relative to an origin, the first value,
// so that a mean far from zero cancels no digits. Nor does a row with a far larger weight than the others.
class ScatterSums {
 public:
  explicit ScatterSums(double origin = 0) : origin_(origin) {}
  // Adds at most `most` rows. `sigma` is that of each row, w = 1/sigma; with null, w = 1.
  static constexpr std::size_t most = 512;
  void add(const double* y, const double* sigma, std::size_t count);
  void add(const ScatterSums& other);  // with the same origin
  // Returns the weighted total sum of squares Σw²(y - ȳ)².
  double total() const;
  bool finite() const { return squares_ - squares_ == 0; }

 private:
  double origin_, weights_ = 0, mean_ = 0, squares_ = 0;
};

// Returns the total sum of squares of `count` > 0 values, computed by ScatterSums. `sigma` is as in
// ScatterSums::add.
double total_squares(const double* y, const double* sigma, std::size_t count);
// Does the same for columns. `sigma` is empty for unweighted values. The result is 0 if there are none.
double total_squares(const Column& y, const Column& sigma);

// Reading large data only to check them would cost as much as a pass of the fit. So large data are checked
// tile by tile in the first pass over all rows, while they are in cache. Small data are checked at once.
class DataSurvey {
 public:
  // The columns are those of `form`, and `names` are their names. Throws DataError if there are no rows. For
  // small data it also throws as `finish` does.
  DataSurvey(std::shared_ptr<const RowSource> rows, std::vector<std::string> names, ResidualForm form);

  // Surveys all rows unless that has been done. Throws as `finish` does.
  void run();
  bool complete() const { return complete_; }

  // These survey in parts. Each chunk is surveyed by one thread, with rows in any order.
  void start(std::size_t chunks);
  void look(std::size_t chunk, std::size_t first, std::size_t count);
  // seen() returns what was found in the chunks [begin, end), as bytes. Another process of a team adds it to
  // its own survey by take_seen().
  std::string seen(std::size_t begin, std::size_t end) const;
  void take_seen(std::size_t begin, std::size_t end, std::string_view bytes);
  // Throws DataError naming the first NaN, Inf, sigma <= 0, negative count or negative sigma_x.
  void finish();

  // Returns the total squares of column y. It is valid once the survey is complete.
  double total_squares() const { return total_squares_; }

 private:
  struct Faults {
    std::size_t count = 0, first = 0;
  };
  struct Chunk {
    ScatterSums scatter;
    std::vector<Faults> faults;  // by column; empty if there are none
  };
  int response() const { return rows_->columns() - form_.data_columns(0); }
  Wanted wanted(int column) const;
  void note_faults(Chunk& chunk, int column, const double* values, std::size_t first,
                   std::size_t count) const;
  [[noreturn]] void fail(int column, const Faults& faults) const;

  std::shared_ptr<const RowSource> rows_;
  std::vector<std::string> names_;
  ResidualForm form_;
  std::vector<Chunk> chunks_;
  bool complete_ = false;
  double total_squares_ = 0;
};

}  // namespace nlsq::inline v0
