// Implements FormulaBlock.
#include "batch/formula_block.hpp"

#include "expression/graph_walk.hpp"

#include <nlsq/traced.hpp>

#include <utility>

namespace nlsq::inline v0 {

namespace {

// Evaluates the formula on recording scalars.
Traced evaluate_traced(const Formula& formula, const std::vector<double>& x, const std::vector<Traced>& p) {
  const auto leaf = [&](const Node& node) {
    return node.op == Op::column ? Traced(x[node.index]) : p[node.index];
  };
  return walk_graph<Traced>(formula.graph, formula.model, leaf, record_op);
}

}  // namespace

FormulaRows::FormulaRows(const Formula& model, const std::vector<int>& shared_ones,
                         const std::vector<int>& own_ones)
    : formula(model), shared(shared_ones), own(own_ones) {
  // The graph of a formula also has the nodes of its left side. Only those of the model are kept, so that a
  // recording has no operation that it does not need.
  Graph graph;
  formula.model = graph.adopt(model.graph, std::vector{model.model}).front();
  formula.graph = std::move(graph);
  std::vector<int> free = shared;
  free.insert(free.end(), own.begin(), own.end());
  derivatives = differentiate(formula.graph, formula.model, free);
}

template <class T>
std::vector<T> FormulaBlock::parameters(const T* const* blocks) const {
  std::vector<T> p(values_.begin(), values_.end());
  for (std::size_t j = 0; j < rows_->shared.size(); ++j)
    p[static_cast<std::size_t>(rows_->shared[j])] = blocks[0][j];
  for (std::size_t j = 0; j < rows_->own.size(); ++j)
    p[static_cast<std::size_t>(rows_->own[j])] = blocks[1][j];
  return p;
}

std::vector<double> FormulaBlock::x() const {
  std::vector<double> x;
  for (const double* const column : rows_->predictors) x.push_back(column[row_]);
  return x;
}

bool FormulaBlock::value(const double* const* blocks, double* residuals) const {
  residuals[0] = (rows_->formula.evaluate(x(), parameters(blocks)) - rows_->response[row_]) * weight();
  return true;
}

bool FormulaBlock::trace(const Traced* const* blocks, Traced* residuals) const {
  residuals[0] =
      (evaluate_traced(rows_->formula, x(), parameters(blocks)) - rows_->response[row_]) * weight();
  return true;
}

bool FormulaBlock::derivatives(const double* const* blocks, double* residuals, double* const* J) const {
  const std::vector<double> at = x(), p = parameters(blocks);
  for (std::size_t j = 0; j < rows_->derivatives.size(); ++j) {
    const bool shared = j < rows_->shared.size();
    double* const to = J[shared ? 0 : 1];
    if (to == nullptr) continue;
    to[shared ? j : j - rows_->shared.size()] =
        weight() * evaluate(rows_->formula.graph, rows_->derivatives[j], at, p);
  }
  return value(blocks, residuals);
}

}  // namespace nlsq::inline v0
