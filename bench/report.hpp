// Collects the results of a bench run: one row per case and peer, as a table and as JSON. Every suite writes
// to it.
#pragma once

#include "goals.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bench {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

struct Row {
  std::string suite, name;   // name: the case, "exp, 1e6 rows"
  double ours_s = kUnknown;  // median seconds
  std::string peer;          // empty: nlsq alone
  double peer_s = kUnknown;
  double max_rel_diff = kUnknown;  // of the parameters (of the sums, for single passes)
  double digits = kUnknown;        // correct digits of nlsq, minimum over parameters, at most 11
  double peer_digits = kUnknown;
  double over_floor = kUnknown;  // our time over the lower bound of one pass over the rows
  std::string note;
  bool sound = true;  // false: wrong or not certified. Independent of time

  double ratio() const { return peer_s / ours_s; }  // above 1: ours is faster
};

// Prints rows as they are added. write_json() writes all of them.
class Report {
 public:
  explicit Report(std::string clock) : clock_(std::move(clock)) {}  // "wall", "cpu"
  void begin_suite(std::string_view suite, std::string_view goal);
  void add(Row row);
  void text(std::string_view line) const;  // a remark between rows
  void goal(Goal goal) { goals_.push_back(std::move(goal)); }
  const std::vector<Goal>& goals() const { return goals_; }
  bool sound() const;
  // The next two throw std::runtime_error if the file cannot be written.
  void write_json(const std::string& file) const;
  void write_goals(const std::string& file) const;

 private:
  std::string clock_;
  std::vector<Row> rows_;
  std::vector<Goal> goals_;
};

// Returns the largest |a_j - b_j| / |b_j|. It is absolute where b_j is 0, and infinite if a value is not
// finite.
double largest_difference(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace bench
