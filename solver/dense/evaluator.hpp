// Evaluator is the interface between DenseSystem and the rows of a problem. It linearizes, evaluates costs
// and measures errors on samples of rows, each in a given precision.
#pragma once

#include "minimizer/minimizer_step_values.hpp"

#include <nlsq/matrix.hpp>
#include <nlsq/scheduler.hpp>
#include "kernels/kernel_table.hpp"
#include "rows/row_model.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

// These plans compute in f64 alone, by normal equations and by a QR pass over the rows.
inline constexpr PrecisionPlan kF64Plan{Format::f64, Gram::f64}, kQrPlan{Format::f64, Gram::qr};

// Holds the cost at a point, and how it was evaluated. Every linearization has this, however it stores its
// matrices.
struct PointCost {
  PrecisionPlan plan;
  double cost = 0;  // ½‖r‖², with losses applied
  bool finite = true;
  double nonfinite_tiles = 0;  // share of the tiles evaluated again in f64
};

// The result of one pass over the rows at x.
struct Linearization : PointCost {
  Vector gradient;      // Jᵀr, length n; below f64 without its bias once a probe has measured it
  Matrix normal;        // JᵀJ, n x n, symmetric
  Matrix triangle;      // if plan.gram == qr: R of [J | r], (n+1) x (n+1); else empty
  Vector nonfinite_of;  // nonfinite_tiles of each component; empty without components
  // The error of J once its columns have length 1: the norm of RowModel::derivative_errors. Singular values
  // below it may be errors.
  double derivative_error = 0;
  bool unbiased = false;  // the bias that a probe measured has been subtracted from the gradient
};

// Holds one component's part of a probe.
struct NoiseOf {
  double cost_noise = 0;
  Vector gradient_bias;
  Matrix gradient_scatter;
};

// Differences between a plan's rows and f64 rows, measured on a stratified sample and extrapolated to all
// rows. For the sum of per-row differences q over m rows, the bias is m*mean(q). The standard error of that
// estimate and the random part of the sum come from the spread between groups of neighbouring rows.
struct Probe {
  std::size_t rows = 0;  // number of sampled rows
  // The noise of ½‖r‖²: |bias| + 2 √(variance of the bias + variance of the random part). It is 0 if rows are
  // in f64.
  double cost_noise = 0;
  Vector gradient_bias;  // n
  // groups x n, with rows b_g: the covariance of the gradient's error is Σ b_g b_gᵀ
  Matrix gradient_scatter;
  Vector column_squares;            // Σ J_ij² over some of the sampled rows, in f64
  std::vector<NoiseOf> components;  // each component separately; empty without components
  bool finite = true;               // every sampled row is finite in the plan's format
  // Some of the sampled rows of J, scaled to stand for all rows. `jacobian` has them in f64, `rounded` as the
  // plan's Gram matrix uses them.
  Matrix jacobian, rounded;
};

// Result of comparing the program's residuals with the user's own function in double, on a stratified sample.
struct Recheck {
  std::size_t rows = 0;
  double largest = 0;      // largest |difference| / size of the row's terms
  double discrepancy = 0;  // ‖difference‖, extrapolated to all rows
  double magnitude = 0;    // ‖size of the terms‖, extrapolated; rounding errors are proportional to it
  // Σ_i |J_ij| size_i / ‖J_j‖ for each parameter. Rounding errors of g_j are proportional to it. It is at
  // most `magnitude`, and far less where the rows with large terms do not depend on parameter j. It is empty
  // if not known.
  Vector column_magnitude = {};
  // Σ_i |r_i| size_i / ‖r‖. Rounding errors of the cost are proportional to it. 0 means not known.
  double cost_magnitude = 0;
  bool repeats = true;  // the function returned the same value twice in a row
  // the column of the user's Jacobian that contradicts differences of the residuals, or -1
  int wrong_column = -1;
  bool wrong_loss = false;         // a loss gives a slope that differences of its values contradict
  double jacobian_difference = 0;  // size of this contradiction, relative to the column's norm or to the
                                   // slope
  bool contradicted() const { return wrong_column >= 0 || wrong_loss; }
  // r or a column of J is not zero, but its squares are below the smallest number
  bool underflow = false;
};

// Holds the sizes of residuals and derivatives, for error messages.
struct RowSizes {
  bool finite = true;
  std::size_t row = 0;  // the row of the first entry that is not finite, else of the largest
  double largest = 0;
  double least = 0;  // smallest column maximum of [J | r], without zero columns
  std::size_t largest_column = 0, least_column = 0;  // their columns; r follows the columns of J
};

class Evaluator {
 public:
  virtual ~Evaluator() = default;
  virtual int parameters() const = 0;
  virtual std::size_t residuals() const = 0;
  virtual bool has_f32() const = 0;
  virtual double row_cost() const = 0;  // in f64 adds per row, with the Jacobian
  // Returns true if the user's code evaluates all rows in one call.
  virtual bool by_calls() const { return false; }
  // Returns true if derivatives at x can be made better. `renew` does so, for the next pass there.
  virtual bool rough(std::span<const double> /*x*/) const { return false; }
  virtual void renew(std::span<const double> /*x*/) {}
  // Says whether differences are extrapolated from here on, as RowModel::extrapolate (rows/row_model.hpp).
  virtual bool extrapolate(bool /*on*/) { return false; }
  // Returns the distance between the points of the difference by parameter j (RowModel::difference_width).
  virtual double difference_width(std::span<const double> /*x*/, std::size_t /*j*/) const { return 0; }
  // Returns true if the residuals are linear in all parameters. These are then solved for before the
  // iteration.
  virtual bool linear() const { return false; }

  // Named components of the rows; empty if there are none. `raised` is the least plan of each: a pass uses it
  // where the requested plan is narrower.
  virtual std::span<const RowComponent> components() const { return {}; }
  virtual std::span<const PrecisionPlan> raised() const { return {}; }
  virtual void raise(std::vector<PrecisionPlan> /*plans*/) {}

  virtual void linearize_into(std::span<const double> x, const PrecisionPlan& plan, Linearization& out) = 0;
  Linearization linearize(std::span<const double> x, const PrecisionPlan& plan) {
    Linearization out;
    linearize_into(x, plan, out);
    return out;
  }
  // Computes only cost, gradient and `finite` at x in f64; this counts as gradient_work(). Returns false and
  // leaves `out` unchanged if they are not available without the rest; gradient_work() is then the work of a
  // full pass.
  virtual bool gradient_into(std::span<const double> /*x*/, Linearization& /*out*/) { return false; }
  virtual double gradient_work() const { return pass_work(kF64Plan); }
  // Linearizes about `rows` evenly spread rows in f64 and scales the result to stand for all rows. Returns
  // false if a part of the rows costs as much as all rows.
  virtual bool linearize_part(std::span<const double> /*x*/, std::size_t /*rows*/, Linearization& /*out*/) {
    return false;
  }
  // Does the same for Jᵀ r_vv, where r_vv is a difference along `direction` over its whole length.
  virtual bool second_order_part(std::span<const double> /*x*/, std::span<const double> /*direction*/,
                                 std::size_t /*rows*/, Vector& /*out*/) {
    return false;
  }
  // Returns ½‖r‖², with losses applied, or NaN if a residual is not finite.
  virtual double cost(std::span<const double> x, Format format) = 0;
  // Linearizes at x, and returns the cost at the point `beside`. Uses one pass over the rows for both if
  // possible.
  virtual double linearize_beside(std::span<const double> x, const PrecisionPlan& plan,
                                  std::span<const double> beside, Format format, Linearization& out) {
    linearize_into(x, plan, out);
    return cost(beside, format);
  }
  virtual Probe probe(std::span<const double> x, const PrecisionPlan& plan) = 0;
  // Rechecks at most `max_rows` rows, in f64.
  virtual void recheck_into(std::span<const double> x, std::size_t max_rows, Recheck& out) = 0;
  Recheck recheck(std::span<const double> x, std::size_t max_rows) {
    Recheck out;
    recheck_into(x, max_rows, out);
    return out;
  }
  // Returns the relative error of J itself beyond rounding (finite differences), or 0.
  virtual double jacobian_error() const { return 0; }
  // Computes Jᵀ r_vv, where r_vv is the second derivative of r along `direction`, by a difference of step h
  // in f64. Returns ‖r_vv‖², or NaN where only the sums of rows are known.
  virtual double second_order_into(std::span<const double> x, std::span<const double> direction, double h,
                                   Vector& out) = 0;

  virtual const KernelCounters& counters() const = 0;
  // Returns the work in f64 adds. Rows and Gram products count at the prices of their formats.
  virtual double counted_work() const = 0;
  virtual double pass_work(const PrecisionPlan& plan) const = 0;  // work of one linearization
  virtual std::size_t bytes() const = 0;                          // largest memory that one pass can hold

  // Returns the issues of formats below f64 in the passes since the last call, also at points that were
  // dropped.
  virtual std::vector<PrecisionIssue> take_issues() { return {}; }
};

}  // namespace nlsq::inline v0
