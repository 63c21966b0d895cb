// Rows whose residuals or derivatives come from calls of the user's code, one row at a time (curves)
// or all rows at once (vector functions). f64 only. Whatever a callable throws passes through.
#pragma once

#include <nlsq/callable.hpp>
#include <nlsq/column.hpp>
#include <nlsq/differences.hpp>
#include "rows/calls/extrapolated_slopes.hpp"
#include "rows/row_model.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

// A curve: residual_i = (f(x_i, p) - y_i) / sigma_i. Columns of `data`: the predictors, then y, then sigma
// where `weighted`; sigma is 1 otherwise. `values`: residual_i = f(x_i, p), for a loss that needs it
// (loss_rows.hpp).
struct CurveRows {
  ModelFunction function;
  std::shared_ptr<const RowSource> data;
  bool weighted = false;
  std::vector<double> parameters;  // all of them; a pass replaces those listed in `free`
  std::vector<int> free;           // indices into `parameters`, in the order of x
  bool values = false;
};

// Value and derivatives of the model at one row, for one set of parameters.
class RowFunction {
 public:
  virtual ~RowFunction() = default;
  // df[k] = ∂f/∂p[free[k]]; returns f. `df` is null when only f is wanted.
  virtual double evaluate(const double* x, double* df) = 0;
};

// What the fallbacks for curves have in common: reading rows, weights, tiles.
class NLSQ_API CallableRows : public RowModel {
 public:
  // Throws ValidationError when columns, parameters and indices do not fit together.
  explicit CallableRows(CurveRows rows);

  int parameters() const override { return static_cast<int>(rows_.free.size()); }
  std::size_t rows() const override { return rows_.data->rows(); }
  std::size_t tile_rows() const override { return 256; }
  bool has_f32() const override { return false; }
  bool concurrent() const override { return rows_.function.concurrent; }
  double row_cost(Fill fill) const override;
  // Throws ValidationError for `single`.
  std::unique_ptr<TilePass> begin(std::span<const double> x, Fill fill, bool single) const override;
  void reference_residuals(std::span<const double> x, std::size_t first, std::size_t count, double* residuals,
                           double* magnitudes) const override;
  // Rows of values, no residuals, from now on.
  void give_values() { rows_.values = true; }

 protected:
  // At all parameters p.
  virtual std::unique_ptr<RowFunction> at(std::vector<double> p) const = 0;
  // Calls of the callable that a row with derivatives takes, in units of calls in double.
  virtual double calls_per_row() const = 0;
  const CurveRows& curve() const { return rows_; }

 private:
  CurveRows rows_;
};

// Forward dual numbers, eight derivatives a call: exact to rounding.
class NLSQ_API DualRows final : public CallableRows {
 public:
  // Throws ValidationError when function.dual is null.
  DualRows(ModelFunction function, std::shared_ptr<const RowSource> data, bool weighted,
           std::vector<double> parameters, std::vector<int> free);
  const char* kind() const override { return "dual"; }

 private:
  std::unique_ptr<RowFunction> at(std::vector<double> p) const override;
  double calls_per_row() const override;
};

// Central differences with steps h = cbrt(eps) * max(|p_j|, typical_j): the error of a derivative is about
// h² |f'''| / 6 + eps |f| / h, some 4e-11 of the size of f/p for a smooth model. Where one side is not
// finite (a pole, the logarithm of a negative number) the other side alone serves, with an error of h
// |f''|/2.
class NLSQ_API DifferenceRows final : public CallableRows {
 public:
  // `typical`: sizes of the parameters below which a step does not shrink, one for every parameter; by
  // default the sizes in `parameters`, 1 for a zero.
  // `lower`, `upper`: bounds of every parameter, which steps keep; empty: none.
  DifferenceRows(ModelFunction function, std::shared_ptr<const RowSource> data, bool weighted,
                 std::vector<double> parameters, std::vector<int> free, std::vector<double> typical = {},
                 std::vector<double> lower = {}, std::vector<double> upper = {});
  const char* kind() const override { return "finite differences"; }

 private:
  std::unique_ptr<RowFunction> at(std::vector<double> p) const override;
  double calls_per_row() const override;

  std::vector<double> typical_, lower_, upper_;
};

// Residuals of a vector function, all computed by one call. A pass evaluates everything once, shared by
// all who begin a pass at the same x, and hands it out in tiles.
class NLSQ_API VectorRows final : public RowModel {
 public:
  // J row-major, rows() x p.size(): all parameters, free or not.
  using Jacobian = std::function<void(std::span<const double> p, std::span<double> J)>;

  // Derivatives by `jacobian` where it is given, else by dual numbers where the function takes them, else by
  // `differences` (central: errors as for DifferenceRows). The number of residuals is what the function gives
  // at `parameters`; a later call that gives another number throws ValidationError. `components` have all of
  // them. `lower`, `upper`: bounds of every parameter, which differences keep; empty: none.
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
  std::unique_ptr<TilePass> begin(std::span<const double> x, Fill fill, bool single) const override;
  // By a call in double, repeated whenever row 0 is asked for. The callable does not say which terms a
  // residual is the difference of: magnitudes are |r|, typical_parameters() the starting ones' sizes.
  void reference_residuals(std::span<const double> x, std::size_t first, std::size_t count, double* residuals,
                           double* magnitudes) const override;
  std::span<const double> typical_parameters() const override { return typical_; }

 private:
  struct Evaluation;  // residuals and columns of J at one x
  std::vector<double> expand(std::span<const double> x) const;
  std::vector<double> residuals_at(std::span<const double> p) const;
  std::shared_ptr<const Evaluation> evaluate(std::span<const double> x, bool derivatives) const;
  void by_jacobian(std::span<const double> p, Evaluation& result) const;
  void by_dual(std::span<const double> p, Evaluation& result) const;
  void by_differences(std::span<const double> p, Evaluation& result) const;
  void by_extrapolation(std::span<const double> p, Evaluation& result) const;

  VectorFunction function_;
  std::vector<double> parameters_;
  std::vector<int> free_;
  Jacobian jacobian_;
  std::vector<RowComponent> components_;
  std::vector<TileRange> tiles_;
  std::vector<std::size_t> tile_component_;
  std::size_t rows_ = 0;
  std::vector<double> typical_;  // sizes of the free parameters
  std::vector<double> lower_, upper_;
  Differences differences_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Evaluation> latest_;
  mutable std::vector<double> reference_at_, reference_;
};

}  // namespace nlsq::inline v0
