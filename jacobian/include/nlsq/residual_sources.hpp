// Residuals of curves as graphs: (model - response) / sigma, the model typed or recorded.
//
// Data columns: the predictors, then y, then sigma where there is one.
#pragma once

#include <nlsq/callable.hpp>
#include <nlsq/formula.hpp>
#include <nlsq/graph_rows.hpp>
#include <nlsq/trace.hpp>

#include <string>

namespace nlsq::inline v0 {

// Copies `root` and what it stands on into another graph.
NLSQ_API NodeId import(Graph& to, const Graph& from, NodeId root);

class NLSQ_API FormulaResidual final : public ResidualSource {
 public:
  FormulaResidual(Formula formula, bool weighted) : formula_(std::move(formula)), weighted_(weighted) {}
  NodeId build(Graph& graph) const override;
  double reference(std::span<const double> row, std::span<const double> p, double& magnitude) const override;
  void reference_rows(std::span<const double* const> columns, std::span<const double> p, std::size_t count,
                      double* residuals, double* magnitudes) const override;

 private:
  Formula formula_;
  bool weighted_;
};

// A recorded callable. Every program is checked once against dual numbers, values and derivatives.
class NLSQ_API RecordedResidual final : public ResidualSource {
 public:
  RecordedResidual(ModelFunction function, int parameters, bool weighted);
  // What has been recorded so far, for rows with or without sigma.
  RecordedResidual(const RecordedResidual& recorded, bool weighted) : RecordedResidual(recorded) { weighted_ = weighted; }
  NodeId build(Graph& graph) const override;
  NodeId build_explored(Graph& graph, bool& known) const override;
  bool explore(std::span<const double> row, std::span<const double> p) override;
  double reference(std::span<const double> row, std::span<const double> p, double& magnitude) const override;
  // The model alone, for the search of linear parameters.
  NodeId build_model(Graph& graph) const { return family_.build(graph); }
  const std::string& reason() const { return reason_; }

 private:
  ModelFunction function_;
  int parameters_;
  bool weighted_;
  TraceFamily family_;
  std::string reason_;
};

}  // namespace nlsq::inline v0
