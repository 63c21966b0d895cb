// Implements the naive fits and judges their results.
#include "naive_fit.hpp"

#include "plain_fit.hpp"
#include "reference_fit.hpp"

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <limits>

namespace problems {

namespace {

struct StoredAsBf16 {
  static float store(float value) { return static_cast<float>(static_cast<Eigen::bfloat16>(value)); }
};

template <class Storage>
NaiveFit believed(const Problem& problem, float ftol) {
  const nlsq::Formula formula = parsed(problem);
  std::vector<float> p;
  for (const double value : Reference(problem).start())
    p.push_back(Storage::store(static_cast<float>(value)));
  float cost = std::numeric_limits<float>::quiet_NaN();
  NaiveFit out;
  out.converged = PlainFit<float, Storage>(problem, formula).minimise(p, cost, 1e-3f, ftol, 200);
  out.p.assign(p.begin(), p.end());
  out.finite =
      std::isfinite(cost) && std::all_of(p.begin(), p.end(), [](float v) { return std::isfinite(v); });
  return out;
}

}  // namespace

NaiveFit naive_f32(const Problem& problem) { return believed<AsComputed>(problem, std::sqrt(0x1p-24f)); }
NaiveFit naive_bf16(const Problem& problem) { return believed<StoredAsBf16>(problem, std::sqrt(0x1p-8f)); }

// A result is wrong if it claims to have converged, but is more than a standard error from the optimum, has a
// cost that is higher by more than a hundredth, and has residuals that differ from zero even in f32.
NaiveOutcome judge(const Problem& problem, const NaiveFit& naive, const nlsq::FitResult& certified) {
  if (!naive.finite) return NaiveOutcome::not_finite;
  const Reference reference(problem);
  const Distance at = reference.distance(naive.p);
  if (!at.finite) return NaiveOutcome::not_finite;
  const double terms = std::max(at.magnitude, reference.distance(reference.start()).magnitude);
  const double best = certified.summary.final_cost;
  const double dof = static_cast<double>(problem.rows()) - static_cast<double>(naive.p.size());
  const double half_sigma_square = dof > 0 ? best / dof : 0;
  const bool far =
      at.cost - best > half_sigma_square && at.cost > 1.01 * best && std::sqrt(2 * at.cost) > 1e-5 * terms;
  if (!far) return NaiveOutcome::right;
  return naive.converged ? NaiveOutcome::silent_wrong : NaiveOutcome::gave_up;
}

}  // namespace problems
