// With errors in x, the effective standard deviation of a row depends on the parameters. This file compiles a
// tile program that evaluates it for all rows, and computes the sums that contain it.
#include "fit/errors_in_x/effective_errors.hpp"

#include "dense/data_survey.hpp"
#include "rows/graph_rows.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

namespace {

// This source returns the effective standard deviation of a row where other sources return its residual.
// `plain` is the source of the residuals f - y. The data have the columns of `form`.
class EffectiveErrors final : public ResidualSource {
 public:
  EffectiveErrors(std::shared_ptr<const ResidualSource> plain, ResidualForm form, int predictors)
      : plain_(std::move(plain)), form_(std::move(form)), predictors_(predictors) {}

  NodeId build(Graph& graph) const override {
    const NodeId difference = plain_->build(graph);
    return graph.make(Op::sqrt, effective_variance(graph, difference, predictors_, form_));
  }

  double reference(std::span<const double> row, std::span<const double> p, double& magnitude) const override {
    Graph graph;
    const NodeId root = build(graph);
    return magnitude = evaluate(graph, root, row, p);
  }

 private:
  std::shared_ptr<const ResidualSource> plain_;
  ResidualForm form_;
  int predictors_;
};

}  // namespace

std::shared_ptr<ResidualSource> effective_deviation(const Curve& curve) {
  return std::make_shared<EffectiveErrors>(curve.source_of(ResidualForm(false)), curve.form,
                                           curve.predictors);
}

EffectiveSums effective_sums(const Curve& curve, std::span<const double> x) {
  std::vector<double> p = curve.start;
  curve.put(x, p);
  const RowSource& data = *curve.data;
  const GraphRows rows(effective_deviation(curve), curve.data, std::move(p), std::vector<int>());
  const std::unique_ptr<TilePass> pass = rows.begin({}, Fill::residual, false);
  const auto columns = static_cast<std::size_t>(curve.predictors) + 1;
  const std::size_t block = std::min(rows.tile_rows(), ScatterSums::most);
  std::vector<std::vector<double>> values(columns, std::vector<double>(block));
  std::vector<double>& y = values.back();
  std::vector<double> row(columns);
  KernelCounters not_of_the_fit;
  ScatterSums scatter;
  EffectiveSums out;
  for (std::size_t first = 0; first < data.rows(); first += block) {
    const std::size_t count = std::min(block, data.rows() - first);
    for (std::size_t c = curve.response ? 0 : columns - 1; c < columns; ++c)
      data.read(first, count, static_cast<int>(c), values[c].data());
    for (std::size_t i = 0; i < count && curve.response; ++i) {
      for (std::size_t c = 0; c < columns; ++c) row[c] = values[c][i];
      y[i] = curve.response(row);
    }
    const double* const errors = pass->fill_f64(first, count, not_of_the_fit)[0];
    if (first == 0) scatter = ScatterSums(y[0]);
    scatter.add(y.data(), errors, count);
    for (std::size_t i = 0; i < count; ++i) out.log_variances += 2 * std::log(errors[i]);
  }
  out.total_squares = scatter.total();
  return out;
}

}  // namespace nlsq::inline v0
