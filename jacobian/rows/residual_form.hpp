// Forms a residual from a model's value f, a response y, and their errors. Row models of curves use it.
//
// A residual is formed in two steps. The base is the number that is differentiated: (f - y)/sigma, or f
// itself for counts. The finished residual is the number whose square is minimised. It is a function of the
// base alone (and of y, for counts). Its slope scales the row of J, so that a loss costs a few operations a
// row and the gradient stays exact. With a loss ρ, r̃ = C T(r/C), where T(u)² = ρ₁(u²), so that ½ Σ r̃² = ½ Σ
// ρ(r²). J̃ᵀJ̃ then has the weights ρ'² z/ρ. They lie between ρ' (iteratively reweighted least squares) and
// ρ' + 2ρ'' z (B. Triggs et al., Bundle Adjustment: A Modern Synthesis, 2000, section 4.3), which need not be
// positive.
#pragma once

#include <nlsq/export.hpp>
#include <nlsq/graph.hpp>
#include <nlsq/loss.hpp>

#include <vector>

namespace nlsq::inline v0 {

// Describes the form of a residual. The data columns are the predictors, y, sigma if `weighted`, then the
// standard deviations of the predictors listed in `x_errors`.
struct ResidualForm {
  bool weighted = false;
  Loss loss;
  std::vector<int> x_errors;  // ascending
  // The rows serve the covariance at the minimum (row_statistics.hpp), not the minimization. For a robust
  // loss the columns are then J of the plain residual r, four extra ones (1, ψ', r, beyond), and ψ in the
  // place of the residual. Here ψ = ρ' r, ψ' is its derivative by r, and beyond is 1 where |r| > C. For
  // counts they are J/√f, and (f - y)/√f in the place of the residual; their JᵀJ is the Fisher information.
  bool for_covariance = false;

  ResidualForm(bool with_sigma = false) : weighted(with_sigma) {}  // NOLINT: implicit by design
  bool operator==(const ResidualForm&) const = default;

  // Returns true if linear parameters of the model are linear parameters of the residual.
  bool keeps_linear() const { return loss.is_linear() && x_errors.empty(); }
  // Returns the robust loss that is minimized, or null if there is none.
  const Loss* minimized_loss() const { return loss.is_robust() && !for_covariance ? &loss : nullptr; }
  // Returns the number of columns between J and the residual.
  int extra_columns() const { return for_covariance && loss.is_robust() ? 4 : 0; }
  int data_columns(int predictors) const {
    return predictors + 1 + (weighted ? 1 : 0) + static_cast<int>(x_errors.size());
  }
};

// Adds the effective variance of a row with errors in x to the graph, and returns its node. The variance is
// sigma² + Σ_k (∂d/∂x_k)² sigma_x[k]², where d = f - y is the node `difference`.
NLSQ_API NodeId effective_variance(Graph& graph, NodeId difference, int predictors, const ResidualForm& form);
// Returns the base as a node; `model` and `response` are nodes of `graph`.
NLSQ_API NodeId base_residual(Graph& graph, NodeId model, NodeId response, int predictors,
                              const ResidualForm& form);
struct FinishedNodes {
  NodeId residual, slope;     // slope: ∂residual/∂base
  std::vector<NodeId> extra;  // extra_columns() nodes
};
NLSQ_API FinishedNodes finish_residual(Graph& graph, NodeId base, NodeId response, const ResidualForm& form);

// Holds the finished residual of one row in double, by different formulas where possible. Certificates
// compare graphs with it, and rows computed by calls of the user's code use it.
struct FinishedNumber {
  double residual = 0, slope = 1;
  double extra[4] = {0, 0, 0, 0};
};
NLSQ_API FinishedNumber finish_residual(double base, double response, const ResidualForm& form);

}  // namespace nlsq::inline v0
