// Checks a recorded program against the user's callable before the program is used. The check is needed
// because recording works by overloaded operators, which a callable can bypass.
#include "expression/names.hpp"
#include "recording/trace.hpp"

#include <nlsq/error.hpp>

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

namespace {

constexpr double kRelative = 1e-9;    // relative tolerance where nothing cancels
constexpr double kCancelled = 1e-11;  // tolerance relative to terms that cancel

// Holds the results of the callable for one residual. The graph must match them.
struct Claim {
  double plain = 0;            // in double
  double value = 0;            // on dual numbers
  std::vector<double> slopes;  // one for each parameter; empty if the callable takes no dual numbers
};

bool matches(const Graph& graph, NodeId value, std::span<const NodeId> derivatives, std::span<const double> x,
             std::span<const double> p, const Claim& claim) {
  const double ours = evaluate(graph, value, x, p);
  if (!std::isfinite(claim.plain)) return std::isnan(claim.plain) ? std::isnan(ours) : ours == claim.plain;
  const double size = size_of_terms(claim.plain, claim.slopes, p);
  if (!agree(ours, claim.plain, size)) return false;
  if (!claim.slopes.empty() && !agree(ours, claim.value, size)) return false;
  for (std::size_t j = 0; j < derivatives.size() && j < claim.slopes.size(); ++j) {
    const double scale = p[j] != 0 ? std::fabs(p[j]) : 1;
    if (!agree(evaluate(graph, derivatives[j], x, p), claim.slopes[j], size / scale)) return false;
  }
  return true;
}

// Calls `use(first, end, seeded)` for each group of parameters that one call can differentiate.
template <class Use>
void for_each_seeding(std::span<const double> p, Use use) {
  for (std::size_t first = 0; first < std::max<std::size_t>(p.size(), 1); first += kDualWidth) {
    std::vector<Dual8> seeded(p.begin(), p.end());
    const std::size_t end = std::min(p.size(), first + kDualWidth);
    for (std::size_t j = first; j < end; ++j) seeded[j] = Dual8(p[j], static_cast<int>(j - first));
    use(first, end, seeded);
  }
}

void note(Claim& claim, const Dual8& result, std::size_t first, std::size_t end) {
  claim.value = result.value();
  for (std::size_t j = first; j < end; ++j) {
    claim.slopes.push_back(result.derivative(static_cast<int>(j - first)));
  }
}

}  // namespace

double size_of_terms(double value, std::span<const double> slopes, std::span<const double> p) {
  double size = std::fabs(value);
  for (std::size_t j = 0; j < slopes.size(); ++j) {
    if (std::isfinite(slopes[j])) size += std::fabs(slopes[j] * p[j]);
  }
  return size;
}

// Returns true if the numbers agree. A NaN from dual numbers alone may be 0·∞, which the derivatives of the
// graph do not have.
bool agree(double graph, double dual, double size, double rounding) {
  if (std::isnan(dual)) return true;
  if (std::isinf(dual)) return !std::isfinite(graph);
  return std::fabs(graph - dual) <=
         kRelative * std::max(std::fabs(graph), std::fabs(dual)) + kCancelled * size + rounding;
}

bool agrees_with_dual(const Graph& graph, NodeId value, std::span<const NodeId> derivatives,
                      const ModelFunction& function, std::span<const double> x, std::span<const double> p) {
  Claim claim;
  claim.plain = function.value(x.data(), p);
  if (function.dual) {
    for_each_seeding(p, [&](std::size_t first, std::size_t end, const std::vector<Dual8>& seeded) {
      note(claim, function.dual(x.data(), seeded), first, end);
    });
  }
  return matches(graph, value, derivatives, x, p, claim);
}

bool agrees_with_dual(const RolledTrace& rolled, const VectorFunction& function, std::span<const double> p,
                      std::size_t sample) {
  if (rolled.opaque()) return false;
  const std::vector<double> plain = function.value(p);
  if (plain.size() != rolled.residuals) return false;
  std::vector<Claim> claims(plain.size());
  for (std::size_t i = 0; i < plain.size(); ++i) claims[i].plain = plain[i];
  if (function.dual) {
    for_each_seeding(p, [&](std::size_t first, std::size_t end, const std::vector<Dual8>& seeded) {
      const std::vector<Dual8> results = function.dual(seeded);
      if (results.size() != claims.size())
        throw Error("the residual function gives another number of residuals");
      for (std::size_t i = 0; i < results.size(); ++i) note(claims[i], results[i], first, end);
    });
  }

  const std::vector<int> wrt = all_parameters(p.size());
  const std::size_t share = std::max<std::size_t>(1, sample / std::max<std::size_t>(1, rolled.groups.size()));
  for (const RolledGroup& group : rolled.groups) {
    Graph graph = group.graph;
    const std::vector<NodeId> derivatives = differentiate(graph, group.root, wrt);
    const std::size_t rows = group.residuals.size(), stride = std::max<std::size_t>(1, rows / share);
    std::vector<double> x(group.columns.size());
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t c = 0; c < x.size(); ++c) x[c] = group.columns[c][row];
      const auto wanted =
          row % stride == 0 ? std::span<const NodeId>(derivatives) : std::span<const NodeId>();
      if (!matches(graph, group.root, wanted, x, p, claims[group.residuals[row]])) return false;
    }
  }
  return true;
}

}  // namespace nlsq::inline v0
