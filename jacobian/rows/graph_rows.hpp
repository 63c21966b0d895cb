// Rows of a curve whose residual is a graph: evaluated by tile programs, in f64 or f32.
#pragma once

#include <nlsq/column.hpp>
#include <nlsq/graph.hpp>
#include "program/tile_program.hpp"
#include "rows/residual_form.hpp"
#include "rows/row_model.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace nlsq::inline v0 {

// Where the residual graph comes from, and what vouches for it.
class NLSQ_API ResidualSource {
 public:
  virtual ~ResidualSource() = default;
  // What derivatives are taken of, over the data columns and all parameters, free or not: the residual,
  // unless it is finished (residual_form.hpp).
  virtual NodeId build(Graph& graph) const = 0;
  virtual FinishedNodes finish(Graph& graph, NodeId base) const { return {base, graph.constant(1), {}}; }
  // Columns that finish() adds between J and the residual.
  virtual int extra_columns() const { return 0; }
  virtual const Loss* robust_loss() const { return nullptr; }
  // A node that is 1 where the row's branch is known, 0 where it is not; `known` says whether every
  // row's branch is known anyway.
  virtual NodeId build_explored(Graph& graph, bool& known) const {
    known = true;
    return graph.constant(1);
  }
  // Records the branch that this row takes at p. False: it cannot be added.
  virtual bool explore(std::span<const double> row, std::span<const double> p) {
    (void)row, (void)p;
    return false;
  }
  // The residual of one row by the user's own callable, and the size of its terms.
  virtual double reference(std::span<const double> row, std::span<const double> p,
                           double& magnitude) const = 0;
  // The same for `count` rows; columns[c] points at their values of data column c.
  virtual void reference_rows(std::span<const double* const> columns, std::span<const double> p,
                              std::size_t count, double* residuals, double* magnitudes) const;
};

// The programs of one residual graph, compiled for a set of free parameters.
struct NLSQ_API ResidualPrograms {
  TileProgram residual, jacobian;  // outputs: r; J (free parameters in order), extra columns, then r
  double residual_cost = 0, jacobian_cost = 0;  // of a row
  static ResidualPrograms build(const ResidualSource& source, std::span<const int> free);
};

class NLSQ_API GraphRows final : public RowModel {
 public:
  // `parameters` holds every parameter of the model; x gives those listed in `free`, and then a number for
  // each extra column, which is not read.
  GraphRows(std::shared_ptr<ResidualSource> source, std::shared_ptr<const RowSource> data,
            std::vector<double> parameters, std::vector<int> free);
  // With programs that ResidualPrograms::build made of `source` and `free` before.
  GraphRows(std::shared_ptr<ResidualSource> source, std::shared_ptr<const ResidualPrograms> programs,
            std::shared_ptr<const RowSource> data, std::vector<double> parameters, std::vector<int> free);

  // The source gives other rows from now on. Not while a pass is under way.
  void data_changed() { ++data_version_; }
  std::size_t data_version() const { return data_version_; }
  // Other parameters that are not free. Not while a pass is under way.
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

  // The same of `count` rows that are not the data's: columns[c] points at their values of data column c.
  void reference_rows(std::span<const double> x, std::span<const double* const> columns, std::size_t count,
                      double* residuals, double* magnitudes) const;

  const ResidualPrograms& programs() const { return *programs_; }
  // Passes hold the programs they were begun with.
  const std::shared_ptr<const ResidualPrograms>& shared_programs() const { return programs_; }
  // All parameters, those that are free from x.
  void expand(std::span<const double> x, std::span<double> out) const;
  std::size_t all_parameters() const { return parameters_.size(); }

 private:
  void rebuild();

  std::shared_ptr<ResidualSource> source_;
  std::shared_ptr<const RowSource> data_;
  std::vector<double> parameters_;
  std::vector<int> free_;
  int extra_ = 0;
  std::shared_ptr<const ResidualPrograms> programs_;
  std::size_t tile_rows_ = 256;
  std::size_t data_version_ = 0;
};

}  // namespace nlsq::inline v0
