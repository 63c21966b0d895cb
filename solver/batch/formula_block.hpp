// FormulaBlock is one row of a curve as a residual block, whose parameter blocks are the parameters that all
// groups share and those of the row's own group. shared_fit.cpp uses it.
#pragma once

#include <nlsq/block_function.hpp>
#include <nlsq/formula.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

// Holds the data and the formula that all rows have in common.
struct FormulaRows {
  FormulaRows(const Formula& model, const std::vector<int>& shared_ones, const std::vector<int>& own_ones);

  Formula formula;
  std::vector<int> shared, own;     // indices of parameters; the others are fixed
  std::vector<NodeId> derivatives;  // by the shared parameters, then by the own ones, in formula.graph
  // These are the data by row. The response is the left side of the formula; weights are 1 / sigma.
  std::vector<const double*> predictors;
  const double* response = nullptr;
  const double* weight = nullptr;  // null if all are 1
};

class FormulaBlock final : public BlockFunction {
 public:
  // `values` are all parameters of the row's group; of these, the fixed ones are read. The array must outlive
  // the block.
  FormulaBlock(std::shared_ptr<const FormulaRows> rows, std::size_t row, std::span<const double> values)
      : BlockFunction(1), rows_(std::move(rows)), row_(row), values_(values) {}

  Derivatives derivatives_by() const override { return Derivatives::traced_own; }
  const void* kind() const override { return rows_.get(); }
  bool value(const double* const* blocks, double* residuals) const override;
  bool trace(const Traced* const* blocks, Traced* residuals) const override;
  bool derivatives(const double* const* blocks, double* residuals, double* const* J) const override;

 private:
  template <class T>
  std::vector<T> parameters(const T* const* blocks) const;
  std::vector<double> x() const;
  double weight() const { return rows_->weight == nullptr ? 1.0 : rows_->weight[row_]; }

  std::shared_ptr<const FormulaRows> rows_;
  std::size_t row_;
  std::span<const double> values_;
};

}  // namespace nlsq::inline v0
