// Declares rows whose residuals or derivatives come from calls of the user's code, one row at a time (curves)
// or all rows at once (vector functions). They are f64 only. Exceptions of a callable pass through.
#pragma once

#include <nlsq/callable.hpp>
#include <nlsq/column.hpp>
#include <nlsq/differences.hpp>
#include "rows/calls/difference_step.hpp"
#include "rows/row_model.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

// This is a curve: residual_i = (f(x_i, p) - y_i) / sigma_i. The columns of `data` are the predictors, then
// y, then sigma if `weighted`; sigma is 1 otherwise. With `values`, residual_i = f(x_i, p), for a loss that
// needs it (loss_rows.hpp).
struct CurveRows {
  ModelFunction function;
  std::shared_ptr<const RowSource> data;
  bool weighted = false;
  std::vector<double> parameters;  // all parameters; a pass replaces those listed in `free`
  std::vector<int> free;           // indices into `parameters`, in the order of x
  bool values = false;
};

// Returns all parameters: `parameters`, with the numbers of x in the places listed in `free`.
std::vector<double> expanded(std::vector<double> parameters, std::span<const int> free,
                             std::span<const double> x);

// Computes the value and the derivatives of the model at one row, for one set of parameters.
class RowFunction {
 public:
  virtual ~RowFunction() = default;
  // Sets df[k] = ∂f/∂p[free[k]] and returns f. `df` is null if only f is wanted.
  virtual double evaluate(const double* x, double* df) = 0;
};

// Has the common part of the rows of a curve that call the user's code. It reads rows, applies weights and
// fills tiles.
class NLSQ_API CallableRows : public RowModel {
 public:
  // Throws ValidationError if columns, parameters and indices do not match.
  explicit CallableRows(CurveRows rows);

  int parameters() const override { return static_cast<int>(rows_.free.size()); }
  std::size_t rows() const override { return rows_.data->rows(); }
  std::size_t tile_rows() const override { return 256; }
  bool has_f32() const override { return false; }
  bool concurrent() const override { return rows_.function.concurrent; }
  double row_cost(Fill fill) const override;
  // Throws ValidationError if `single` is true.
  std::unique_ptr<TilePass> begin(std::span<const double> x, Fill fill, bool single) const override;
  void reference_residuals(std::span<const double> x, std::size_t first, std::size_t count, double* residuals,
                           double* magnitudes) const override;
  void expect_gaps(bool gaps) const override { rows_.data->expect_gaps(gaps); }
  void will_read(std::size_t first, std::size_t count) const override {
    for (int c = 0; c < rows_.data->columns(); ++c) rows_.data->will_read(first, count, c);
  }
  void was_read(std::size_t first, std::size_t count) const override {
    for (int c = 0; c < rows_.data->columns(); ++c) rows_.data->was_read(first, count, c);
  }

 protected:
  // Returns the row function at all parameters p.
  virtual std::unique_ptr<RowFunction> at(std::vector<double> p) const = 0;
  // Cost of a row with derivatives, in calls of the callable in double.
  virtual double calls_per_row() const = 0;
  const CurveRows& curve() const { return rows_; }

 private:
  CurveRows rows_;
};

// Computes rows by forward dual numbers, eight derivatives per call. They are exact to rounding.
class NLSQ_API DualRows final : public CallableRows {
 public:
  // Throws ValidationError if function.dual is null.
  explicit DualRows(CurveRows rows);
  const char* kind() const override { return "dual"; }

 private:
  std::unique_ptr<RowFunction> at(std::vector<double> p) const override;
  double calls_per_row() const override;
};

// Central differences with steps h = cbrt(eps) * max(|p_j|, typical_j). The error of a derivative is about h²
// |f'''| / 6 + eps |f| / h, which is some 4e-11 of the size of f/p for a smooth model. If the value on one
// side is not finite (a pole, the logarithm of a negative number), the other side alone is used, with an
// error of h |f''|/2.
class NLSQ_API DifferenceRows final : public CallableRows {
 public:
  // `typical` has the size of every parameter below which its step does not shrink. If it is empty, these are
  // the sizes of `parameters`, or 1 for a zero. `lower` and `upper` are bounds of every parameter, which
  // steps respect. They are empty if there are no bounds.
  explicit DifferenceRows(CurveRows rows, std::vector<double> typical = {}, std::vector<double> lower = {},
                          std::vector<double> upper = {});
  const char* kind() const override { return "finite differences"; }
  // Returns the steps of the free parameters at p. At the first p it checks whether they are too long, and
  // again for a parameter that has changed by half of its size since then. Exceptions of the function pass
  // through.
  std::vector<DifferenceStep> steps(std::span<const double> p) const;
  // Extrapolated differences are taken by a VectorRows, which evaluates all rows at once.
  bool extrapolate(bool on) override;
  double difference_width(std::span<const double> x, std::size_t j) const override;
  std::vector<double> derivative_errors(std::span<const double> x) const override;
  double row_cost(Fill fill) const override;
  std::unique_ptr<TilePass> begin(std::span<const double> x, Fill fill, bool single) const override;

 private:
  std::unique_ptr<RowFunction> at(std::vector<double> p) const override;
  double calls_per_row() const override;
  DifferenceStep step(std::size_t j, double p, double share) const;
  void shorten_steps(std::span<const double> p) const;

  mutable std::vector<double> typical_;  // changes where a parameter starts at 0 or near it
  std::vector<double> lower_, upper_;
  mutable std::vector<double> shares_;  // shares of the usual steps, one for each parameter
  mutable std::mutex mutex_;
  mutable std::vector<double> checked_;  // the parameters at which the shares were found; empty: not yet
  std::unique_ptr<RowModel> extrapolated_;
};

// Returns |y| / σ for all rows. y is in column `y` of the data, and σ in the next one if the rows are
// weighted.
std::vector<double> response_sizes(const RowSource& data, int y, bool weighted);

// Computes the residuals of a vector function, all by one call. A pass evaluates everything once and returns
// it in tiles. Passes that begin at the same x share the evaluation.
class NLSQ_API VectorRows final : public RowModel {
 public:
  // J is row-major, rows() x p.size(), for all parameters, fixed or not.
  using Jacobian = std::function<void(std::span<const double> p, std::span<double> J)>;
  // extrapolate() refuses more rows than this, because the tables need 150 bytes for each row.
  static constexpr std::size_t kMostExtrapolated = 1u << 20;

  // Derivatives come from `jacobian` if it is given, else from dual numbers if the function accepts them,
  // else from `differences`. Central differences have the errors of DifferenceRows. At the start of a fit,
  // and at a point far from all that were evaluated before, one-sided ones replace them until the point is
  // prepared again (see rough()). The number of residuals is what the function returns at `parameters`; a
  // later call with another number throws ValidationError. `components` must cover all residuals. `lower` and
  // `upper` are the bounds of every parameter, which differences respect. They are empty if there are no
  // bounds.
  VectorRows(VectorFunction function, std::vector<double> parameters, std::vector<int> free,
             Jacobian jacobian = {}, std::vector<RowComponent> components = {},
             std::vector<double> lower = {}, std::vector<double> upper = {},
             Differences differences = Differences::central);

  int parameters() const override { return static_cast<int>(free_.size()); }
  std::size_t rows() const override { return rows_; }
  std::size_t tile_rows() const override { return 256; }
  std::size_t tile_count() const override { return tiles_.size(); }
  TileRange tile(std::size_t index) const override { return tiles_[index]; }
  std::span<const RowComponent> components() const override { return components_; }
  std::size_t component(std::size_t tile) const override { return tile_component_[tile]; }
  bool has_f32() const override { return false; }
  bool concurrent() const override { return function_.concurrent; }
  const char* kind() const override;
  double row_cost(Fill fill) const override;
  void prepare(std::span<const double> x, Fill fill) const override;
  bool one_point() const override { return true; }
  void start_at(std::span<const double> x) override { start_at_.assign(x.begin(), x.end()); }
  bool rough(std::span<const double> x) const override;
  bool extrapolate(bool on) override;
  double difference_width(std::span<const double> x, std::size_t j) const override;
  std::vector<double> derivative_errors(std::span<const double> x) const override;
  std::unique_ptr<TilePass> begin(std::span<const double> x, Fill fill, bool single) const override;
  // Returns estimates of ‖error of column j‖² for derivatives by central differences at x, the latest point.
  // They contain the rounding errors of the values, wherever these arise, and the curvature, so that they are
  // often far too large. A column is infinite if its differences are not central.
  std::vector<double> apparent_errors(std::span<const double> x) const;
  // Sets the size of every parameter below which steps do not shrink. Without this call, these are the sizes
  // of the parameters given at first.
  void set_typical(std::span<const double> sizes);
  // States that each residual is a difference (f - y) w, and gives the sizes |y| w (see response_sizes).
  void set_constants(std::vector<double> sizes);
  // Calls the function in double, again whenever row 0 is requested. With constants the magnitudes are those
  // of the terms, |r| + 2 |y| w >= (|f| + |y|) w. Without them the terms are unknown: magnitudes are |r|, and
  // typical_parameters() are the sizes of the starting values.
  void reference_residuals(std::span<const double> x, std::size_t first, std::size_t count, double* residuals,
                           double* magnitudes) const override;
  std::span<const double> typical_parameters() const override {
    return constants_.empty() ? std::span<const double>(typical_) : std::span<const double>();
  }

 private:
  struct Evaluation;  // residuals and columns of J at one x
  std::vector<double> expand(std::span<const double> x) const { return expanded(parameters_, free_, x); }
  std::vector<double> value_at(std::span<const double> p) const;
  std::vector<double> residuals_at(std::span<const double> p) const;
  std::shared_ptr<const Evaluation> evaluate(std::span<const double> x, bool derivatives,
                                             bool anew = false) const;
  void keep(std::shared_ptr<const Evaluation> latest) const;
  bool by_ridders() const { return extrapolated_ || differences_ == Differences::ridders; }
  bool far(std::span<const double> x) const;
  bool large() const;
  double distance(std::span<const double> x, std::span<const double> other) const;
  void by_jacobian(std::span<const double> p, Evaluation& result) const;
  void by_dual(std::span<const double> p, Evaluation& result) const;
  void by_differences(std::span<const double> p, Evaluation& result) const;
  bool as_beside(Evaluation& result) const;
  bool by_bends(std::span<const double> p, Evaluation& result) const;
  void by_extrapolation(std::span<const double> p, Evaluation& result) const;
  std::vector<double> residuals_beside(std::span<const double> p, std::size_t j, double place) const;
  DifferenceStep step_within_bounds(std::size_t k, double p, double share) const;
  void find_size(std::size_t k, double p, std::span<const double> here, const ValuesAt& at) const;

  VectorFunction function_;
  std::vector<double> parameters_;
  std::vector<int> free_;
  Jacobian jacobian_;
  std::vector<RowComponent> components_;
  std::vector<TileRange> tiles_;
  std::vector<std::size_t> tile_component_;
  std::size_t rows_ = 0;
  mutable std::vector<double> typical_;  // sizes of the free parameters
  // True for parameters that start at 0 or near it, until their first derivatives. Their start may not show
  // the size that their steps need (size_of_zero, SizeSearch).
  mutable std::vector<bool> without_size_;
  std::vector<double> constants_;  // sizes of what each residual subtracts; empty: unknown
  std::vector<double> lower_, upper_;
  Differences differences_;    // the kind that the caller chose
  bool extrapolated_ = false;  // extrapolate() has switched to Ridders' differences
  mutable std::mutex mutex_;
  mutable std::vector<double> step_shares_;  // shares of the usual steps, one for each free parameter
  mutable std::vector<bool> shortened_in_vain_;
  mutable std::vector<std::shared_ptr<const Evaluation>> recent_;  // the latest first
  mutable std::shared_ptr<const Evaluation> start_;                // null: not kept
  std::vector<double> start_at_;                                   // where a fit starts; empty: nowhere
  mutable std::vector<double> reference_at_, reference_;
};

// Holds the values of a vector function and of its derivatives at one point.
struct VectorRows::Evaluation {
  std::vector<double> x;
  std::vector<double> residuals;
  double squares = 0;                            // the sum of their squares
  std::vector<std::vector<double>> derivatives;  // for each free parameter; empty if not requested
  bool one_sided = false;                        // true if derivatives are one-sided, because x is far
  std::vector<double> errors;                    // RowModel::derivative_errors
  // Holds for each free parameter the derivative by central differences minus the one by one-sided
  // differences. Both have steps of `shares`. It is empty if some parameter has one-sided differences only.
  std::vector<std::vector<double>> bends;
  std::vector<double> shares;
};

}  // namespace nlsq::inline v0
