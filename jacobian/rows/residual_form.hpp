// How a residual is made of a model's value f, a response y, and what is known of their errors.
//
// Two steps. The base is what derivatives are taken of: (f - y)/sigma, or f itself for counts. The finish is
// a function of the base alone (and of y, for counts): the number whose square is minimised. Its slope scales
// the row of J, so that a loss costs a few operations a row and the gradient stays exact. A loss ρ becomes
// r̃ = C T(r/C), T(u)² = ρ₁(u²): then ½ Σ r̃² = ½ Σ ρ(r²). J̃ᵀJ̃ has the weights ρ'² z/ρ, between ρ'
// (iteratively reweighted least squares) and ρ' + 2ρ'' z (B. Triggs et al., Bundle Adjustment: A Modern
// Synthesis, 2000, section 4.3), which need not be positive.
#pragma once

#include <nlsq/export.hpp>
#include <nlsq/graph.hpp>
#include <nlsq/loss.hpp>

#include <span>
#include <vector>

namespace nlsq::inline v0 {

// Data columns: the predictors, y, sigma where `weighted`, then standard deviations of the predictors listed
// in `x_errors`.
struct ResidualForm {
  bool weighted = false;
  Loss loss;
  std::vector<int> x_errors;  // ascending
  // Rows for the covariance at the minimum, not for a minimum (row_statistics.hpp). A robust loss: J, 1, ψ',
  // r, beyond | ψ with J of the plain residual r, ψ = ρ' r, ψ' its derivative by r, beyond: 1 where |r| > C.
  // Counts: J/√f | (f - y)/√f, whose JᵀJ is the Fisher information.
  bool for_covariance = false;

  ResidualForm(bool with_sigma = false) : weighted(with_sigma) {}  // NOLINT: implicit by design
  bool operator==(const ResidualForm&) const = default;

  // Linear parameters of the model are linear parameters of the residual.
  bool keeps_linear() const { return loss.is_linear() && x_errors.empty(); }
  // The robust loss that is minimised; null: none.
  const Loss* minimized_loss() const { return loss.is_robust() && !for_covariance ? &loss : nullptr; }
  // Columns between J and the residual.
  int extra_columns() const { return for_covariance && loss.is_robust() ? 4 : 0; }
  int data_columns(int predictors) const {
    return predictors + 1 + (weighted ? 1 : 0) + static_cast<int>(x_errors.size());
  }
};

// As nodes: `model` and `response` in `graph`.
NLSQ_API NodeId base_residual(Graph& graph, NodeId model, NodeId response, int predictors,
                              const ResidualForm& form);
struct FinishedNodes {
  NodeId residual, slope;     // slope: ∂residual/∂base
  std::vector<NodeId> extra;  // extra_columns() of them
};
NLSQ_API FinishedNodes finish_residual(Graph& graph, NodeId base, NodeId response, const ResidualForm& form);

// The same in double, by other formulas where there are any: what re-checks compare with, and rows by calls
// of the user's code are made of.
struct FinishedNumber {
  double residual = 0, slope = 1;
  double extra[4] = {0, 0, 0, 0};
};
NLSQ_API FinishedNumber finish_residual(double base, double response, const ResidualForm& form);

}  // namespace nlsq::inline v0
