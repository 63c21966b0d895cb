#include "naive_fit.hpp"

#include "plain_fit.hpp"
#include "reference_fit.hpp"

#include <algorithm>
#include <cmath>

namespace problems {

NaiveFit naive_f32(const Problem& problem) {
  const nlsq::Formula formula = parsed(problem);
  const std::vector<double> start = Reference(problem).start();
  std::vector<float> p(start.begin(), start.end());
  float cost = std::numeric_limits<float>::quiet_NaN();
  NaiveFit out;
  out.converged = PlainFit<float>(problem, formula).minimise(p, cost, 1e-3f, std::sqrt(0x1p-24f), 200);
  out.p.assign(p.begin(), p.end());
  out.finite = std::isfinite(cost) && std::all_of(p.begin(), p.end(), [](float v) { return std::isfinite(v); });
  return out;
}

}  // namespace problems
