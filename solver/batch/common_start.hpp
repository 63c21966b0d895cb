// CommonStart: one start for many groups of alike data, instead of a guess for each, which would take longer
// than the fit. A sample of the groups, fitted both ways, decides whether it serves. curve_fit_groups uses
// it.
#pragma once

#include <nlsq/curve_fit_batch.hpp>
#include <nlsq/options.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

inline constexpr std::size_t kFewestForCommonStart = 4096;  // groups; the sample must be a small part of them

struct CommonStart {
  Matrix start;                   // one row
  std::vector<double> low, high;  // the range of each parameter among the sample's minima
  double least_r_squared = 0;     // few groups of the sample are below it

  // Whether the end of a fit from this start is like those of the sample. A fit that ended in another minimum
  // than its own guess would find has unusual parameters or an unusually bad R².
  bool typical(Verdict verdict, const double* parameters, double r_squared) const;
  // Whether the first end is better than the second, beyond rounding.
  static bool better(Verdict a, double cost_a, Verdict b, double cost_b);
};

// Chooses groups by a hash of their y, so that the choice does not depend on the order of groups or rows.
// Returns them in ascending order.
std::vector<std::size_t> sample_groups(const std::vector<std::size_t>& groups,
                                       const std::function<std::span<const double>(std::size_t)>& y,
                                       const Parallelism& parallelism);

// Compares fits of the sample from their own guesses with fits from the median of the ends of the former.
class CommonStartTest {
 public:
  explicit CommonStartTest(std::size_t parameters) : parameters_(parameters) {}

  // Fit i from its own guess; `total`: sum of squares of y about its mean.
  void add_own(const BatchResult& fits, std::size_t i, double total);
  // Call after the last of these. False if too many of them failed.
  bool propose();
  const Matrix& start() const { return found_.start; }
  // Fits from start(), in the order of add_own.
  void add_common(const BatchResult& fits);
  // Nothing if one of the fits from start() ended in a worse minimum that looks typical, or if many failed.
  std::optional<CommonStart> result() const;

 private:
  std::size_t parameters_;
  std::vector<Verdict> verdict_;
  std::vector<double> cost_, total_;
  std::vector<std::vector<double>> of_parameter_;
  std::size_t compared_ = 0, refitted_ = 0;
  bool missed_ = false;
  CommonStart found_;
};

}  // namespace nlsq::inline v0
