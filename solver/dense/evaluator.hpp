// What the minimizer asks of a problem: a linearization, a cost, a probe. Precision is an argument.
#pragma once

#include "minimizer/minimizer_step_values.hpp"

#include <nlsq/matrix.hpp>
#include <nlsq/scheduler.hpp>
#include "kernels/kernel_table.hpp"
#include "rows/row_model.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

// What a linearization says of a point, whatever form its matrices have.
struct PointModel {
  PrecisionPlan plan;
  double cost = 0;  // ½‖r‖², with losses applied
  bool finite = true;
  double nonfinite_tiles = 0;  // share of the tiles redone in f64
};

// All that one pass over the rows tells about x.
struct Linearization : PointModel {
  Vector gradient;      // Jᵀr, n
  Matrix normal;        // JᵀJ, n x n, symmetric
  Matrix triangle;      // plan.gram == qr: R of [J | r], (n+1) x (n+1); else empty
  Vector nonfinite_of;  // nonfinite_tiles of each component; empty where there are none
};

struct CostValue {
  double cost = 0;  // ½‖r‖²; NaN when a residual is not finite
  bool finite() const { return cost - cost == 0; }
};

// Part of a probe: what one component's rows contribute.
struct NoiseOf {
  double cost_noise = 0;
  Vector gradient_bias;
  Matrix gradient_scatter;
};

// Discrepancies between a plan's rows and f64 rows, from a stratified sample, extrapolated to all rows.
// Sums over m rows of per-row differences q: bias m*mean(q); standard error of that estimate, and the
// random part of the sum itself, from the scatter between groups of neighbouring rows.
struct Probe {
  std::size_t rows = 0;     // sampled
  double cost_noise = 0;    // |bias| + 2 se + 2 random, of ½‖r‖²; 0 where rows are f64
  Vector gradient_bias;     // n
  Matrix gradient_scatter;  // groups x n: rows b_g, Σ b_g b_gᵀ is the covariance of the gradient's error
  Vector column_squares;    // Σ J_ij² over some of the sampled rows, in f64
  std::vector<NoiseOf> components;  // each by itself; empty where there are none
  bool finite = true;               // every sampled row was finite in the plan's format
  // Some of those rows, each scaled by √(m/S): J in f64, as the plan's Gram matrix sees it, and as one of 16
  // bits would, where that is asked for.
  Matrix jacobian, rounded, rounded_below;
};

// The program's residuals beside those of the user's own callable in double, on a stratified sample.
struct Recheck {
  std::size_t rows = 0;
  double largest = 0;      // largest |difference| / size of the row's terms
  double discrepancy = 0;  // ‖difference‖, extrapolated to all rows
  double magnitude = 0;    // ‖size of the terms‖, extrapolated: what rounding errors scale with
  // Σ_i |J_ij| size_i / ‖J_j‖: what rounding errors of g_j scale with, by parameter; at most `magnitude`, and
  // far less where the rows of large terms say nothing of parameter j. Empty: not known.
  Vector column_magnitude = {};
  double cost_magnitude =
      0;  // Σ_i |r_i| size_i / ‖r‖: what rounding errors of the cost scale with; 0: not known
  bool repeats = true;             // the callable gave the same twice in a row
  int wrong_column = -1;           // of a Jacobian the user gave: differences of the residuals contradict it
  double jacobian_difference = 0;  // by how much, in units of the column's norm
  bool underflow = false;  // r, or a column of J, is not zero and its squares are below the smallest number
};

// The sizes of residuals and derivatives, for messages.
struct RowSizes {
  bool finite = true;
  std::size_t row = 0;  // of the first residual or derivative that is not finite; else of the largest
  double largest = 0;
  double least = 0;  // largest entry of that column of [J | r] where it is least, zero columns left out
};

class Evaluator {
 public:
  virtual ~Evaluator() = default;
  virtual int parameters() const = 0;
  virtual std::size_t residuals() const = 0;
  virtual bool has_f32() const = 0;
  virtual double row_cost() const = 0;  // f64 adds a row, Jacobian included
  virtual bool linear() const {
    return false;
  }  // in all parameters, and they are solved for before the iteration

  // Named components of the rows, each at least in its raised plan whatever plan is asked for; none: empty.
  virtual std::span<const RowComponent> components() const { return {}; }
  virtual std::span<const PrecisionPlan> raised() const { return {}; }
  virtual void raise(std::vector<PrecisionPlan> plans) { (void)plans; }

  virtual void linearize_into(std::span<const double> x, const PrecisionPlan& plan, Linearization& out) = 0;
  Linearization linearize(std::span<const double> x, const PrecisionPlan& plan) {
    Linearization out;
    linearize_into(x, plan, out);
    return out;
  }
  // Cost, gradient and `finite` of x in f64, nothing else of `out`: gradient_work() of counted work. False:
  // they are not to be had apart from the rest, whose work that is then, and `out` is what it was.
  virtual bool gradient_into(std::span<const double> x, Linearization& out) {
    return (void)x, (void)out, false;
  }
  virtual double gradient_work() const { return pass_work({Format::f64, Gram::f64}); }
  // What linearize gives in f64 of about `rows` of the rows, spread evenly, scaled to stand for all of them.
  // False: a part of the rows costs as much as all.
  virtual bool linearize_part(std::span<const double> x, std::size_t rows, Linearization& out) {
    (void)x, (void)rows, (void)out;
    return false;
  }
  // The same of Jᵀ r_vv, r_vv along `direction` by a difference of that length.
  virtual bool second_order_part(std::span<const double> x, std::span<const double> direction,
                                 std::size_t rows, Vector& out) {
    (void)x, (void)direction, (void)rows, (void)out;
    return false;
  }
  virtual CostValue cost(std::span<const double> x, Format format) = 0;
  // `below`: a 16-bit format whose effect on J is of interest, too.
  virtual Probe probe(std::span<const double> x, const PrecisionPlan& plan,
                      std::optional<Format> below = {}) = 0;
  // At most `max_rows` rows, in f64.
  virtual void recheck_into(std::span<const double> x, std::size_t max_rows, Recheck& out) = 0;
  Recheck recheck(std::span<const double> x, std::size_t max_rows) {
    Recheck out;
    recheck_into(x, max_rows, out);
    return out;
  }
  // Relative error of J itself beyond rounding (finite differences); 0 otherwise.
  virtual double jacobian_error() const { return 0; }
  // Jᵀ r_vv, r_vv the second derivative of r along `direction`, by a difference of step h (f64).
  virtual void second_order_into(std::span<const double> x, std::span<const double> direction, double h,
                                 Vector& out) = 0;

  virtual const KernelCounters& counters() const = 0;
  virtual double counted_work() const = 0;  // f64 adds: rows and Gram products at the prices of their formats
  virtual double pass_work(const PrecisionPlan& plan) const = 0;  // of one linearization
  virtual std::size_t bytes() const = 0;                          // most memory one pass held

  // What numbers below f64 did in the passes since this was last asked, whatever became of their points.
  virtual std::vector<PrecisionIssue> take_issues() { return {}; }
};

}  // namespace nlsq::inline v0
