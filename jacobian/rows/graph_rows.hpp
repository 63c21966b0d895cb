// Evaluates the rows of a curve whose residual is a graph by tile programs in f64 or f32.
#pragma once

#include <nlsq/column.hpp>
#include <nlsq/graph.hpp>
#include "program/tile_program.hpp"
#include "rows/residual_form.hpp"
#include "rows/row_model.hpp"

#include <memory>
#include <mutex>
#include <vector>

namespace nlsq::inline v0 {

class StepsCache;  // machine_code/program_steps.hpp

// Supplies the residual graph, and checks it against the user's own function.
class NLSQ_API ResidualSource {
 public:
  virtual ~ResidualSource() = default;
  // Builds the expression that is differentiated, as a function of the data columns and all parameters, fixed
  // or not. It is the residual, unless finish() changes it (residual_form.hpp).
  virtual NodeId build(Graph& graph) const = 0;
  virtual FinishedNodes finish(Graph& graph, NodeId base) const { return {base, graph.constant(1), {}}; }
  // Number of columns that finish() adds between J and the residual.
  virtual int extra_columns() const { return 0; }
  virtual const Loss* robust_loss() const { return nullptr; }
  // Builds a node that is 1 where the row's branch has been recorded, else 0. `known` tells whether all
  // branches of all rows are recorded anyway.
  virtual NodeId build_explored(Graph& graph, bool& known) const {
    known = true;
    return graph.constant(1);
  }
  // Records the branch that this row takes at p. Returns false if it cannot be added.
  virtual bool explore(std::span<const double> /*row*/, std::span<const double> /*p*/) { return false; }
  // Returns false if the user's own callable gives the same values in every call.
  virtual bool may_have_state() const { return true; }
  // Returns the data column of y, or -1 if it is unknown because the user's function subtracts y itself.
  virtual int response_column() const { return -1; }
  // Returns true if residuals are divided by a data column sigma.
  virtual bool weighted() const { return false; }
  // Returns the residual of one row by the user's own callable, and the size of its terms.
  virtual double reference(std::span<const double> row, std::span<const double> p,
                           double& magnitude) const = 0;
  // Computes the same for `count` rows. columns[c] points at their values of data column c.
  virtual void reference_rows(std::span<const double* const> columns, std::span<const double> p,
                              std::size_t count, double* residuals, double* magnitudes) const;
};

// Holds the compiled programs of one residual graph, for one set of free parameters.
struct NLSQ_API ResidualPrograms {
  TileProgram residual, jacobian;  // outputs: r; and J (free parameters in order), extra columns, r
  double residual_cost = 0, jacobian_cost = 0;  // costs of a row
  std::shared_ptr<StepsCache> steps;
  const TileProgram& of(Fill fill) const { return fill == Fill::residual ? residual : jacobian; }
  static ResidualPrograms build(const ResidualSource& source, std::span<const int> free);
};

class NLSQ_API GraphRows final : public RowModel {
 public:
  // `parameters` holds every parameter of the model. x holds those listed in `free`, and then one number for
  // each extra column, which is not read.
  GraphRows(std::shared_ptr<ResidualSource> source, std::shared_ptr<const RowSource> data,
            std::vector<double> parameters, std::vector<int> free);
  // Uses programs that ResidualPrograms::build made earlier from `source` and `free`.
  GraphRows(std::shared_ptr<ResidualSource> source, std::shared_ptr<const ResidualPrograms> programs,
            std::shared_ptr<const RowSource> data, std::vector<double> parameters, std::vector<int> free);

  // Must be called when the source's data change. It must not be called during a pass.
  void data_changed() { ++data_version_; }
  std::size_t data_version() const { return data_version_; }
  // Replaces the fixed parameters. It must not be called during a pass.
  void set_parameters(std::span<const double> parameters) {
    parameters_.assign(parameters.begin(), parameters.end());
  }

  int parameters() const override { return static_cast<int>(free_.size()) + extra_; }
  std::size_t rows() const override { return data_->rows(); }
  std::size_t tile_rows() const override { return tile_rows_; }
  bool has_f32() const override { return true; }
  const char* kind() const override { return "graph"; }
  const Loss* robust_loss() const override { return source_->robust_loss(); }
  double row_cost(Fill fill) const override;
  std::unique_ptr<TilePass> begin(std::span<const double> x, Fill fill, bool single) const override;
  NonFinite explain_non_finite(std::span<const double> x, std::size_t first, std::size_t count) override;
  void reference_residuals(std::span<const double> x, std::size_t first, std::size_t count, double* residuals,
                           double* magnitudes) const override;
  // Adds to each magnitude the part that comes from y, for a function that subtracts y itself. No column of
  // the data is known to be y then.
  void add_sizes_of_response(std::span<const double> x, std::size_t first, std::size_t count,
                             double* magnitudes) const;
  std::unique_ptr<TwofoldRows> twofold() const override;
  bool may_have_state() const override { return source_->may_have_state(); }
  void expect_gaps(bool gaps) const override { data_->expect_gaps(gaps); }
  void will_read(std::size_t first, std::size_t count) const override {
    for (int c = 0; c < data_->columns(); ++c) data_->will_read(first, count, c);
  }
  void was_read(std::size_t first, std::size_t count) const override {
    for (int c = 0; c < data_->columns(); ++c) data_->was_read(first, count, c);
  }

  // Computes the same for `count` rows outside the data. columns[c] points at their values of data column c.
  void reference_rows(std::span<const double> x, std::span<const double* const> columns, std::size_t count,
                      double* residuals, double* magnitudes) const;

  const ResidualPrograms& programs() const { return *programs_; }
  // A pass keeps the programs that it began with.
  const std::shared_ptr<const ResidualPrograms>& shared_programs() const { return programs_; }
  // Writes all parameters to `out`. The free ones come from x.
  void expand(std::span<const double> x, std::span<double> out) const;
  std::size_t all_parameters() const { return parameters_.size(); }

 private:
  class ResponseInside;

  void rebuild();
  std::shared_ptr<const ResponseInside> response_inside() const;

  std::shared_ptr<ResidualSource> source_;
  std::shared_ptr<const RowSource> data_;
  std::vector<double> parameters_;
  std::vector<int> free_;
  int extra_ = 0;
  std::shared_ptr<const ResidualPrograms> programs_;
  std::size_t tile_rows_ = 256;
  std::size_t data_version_ = 0;
  mutable std::mutex inside_mutex_;
  mutable std::shared_ptr<const ResponseInside> inside_;  // null until it is needed after a rebuild()
};

}  // namespace nlsq::inline v0
