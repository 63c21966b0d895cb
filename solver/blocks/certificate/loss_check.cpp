// Checks the slopes that own losses give against differences of their values. A wrong slope makes a wrong
// gradient, and steps would end beside the minimum.
#include "blocks/block_system.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace nlsq::inline v0 {

namespace {

constexpr double kSharesOfS[] = {0x1p-10, 0x1p-16, 0x1p-22};  // of s, to both sides
constexpr double kAgree = 0.01;                               // of differences with each other
constexpr double kWrongSlope = 0.02;                          // of the slope, relative to the larger one
constexpr double kLost = 1e-6;
constexpr double kFar = 0x1p40;
constexpr std::size_t kMostBlocks = 1000;  // of those with an own loss

// Returns the slope of ρ at s by differences, or nothing if they show no slope. They do not where they
// disagree with each other: at a kink, or where rounding errors of ρ are too large. Differences of 0 may also
// be the effect of rounding. They count only if ρ has risen up to s and is flat from there on, and if the
// slope given is so large that ρ would have to change visibly. Flatness is tested at two points beyond s: a ρ
// that rounding turns into a staircase is flat at the nearer one and has risen at the farther one.
std::optional<double> slope_by_differences(const Loss& loss, double s, const Loss::Value& given) {
  const double rho = given.rho;
  double least = HUGE_VAL, most = -HUGE_VAL;
  for (const double share : kSharesOfS) {
    for (const double h : {share * s, -share * s}) {
      const double slope = (loss(s + h).rho - rho) / h;
      if (!std::isfinite(slope)) return std::nullopt;
      least = std::min(least, slope);
      most = std::max(most, slope);
    }
  }
  if (most - least > kAgree * std::max(std::fabs(least), std::fabs(most))) return std::nullopt;
  const bool zero = least == 0 && most == 0;
  const bool flat = loss(4 * s).rho == rho && loss(kFar * s).rho == rho;
  const bool shows = given.slope * s > kLost * std::fabs(rho) && rho != loss(0).rho && flat;
  if (zero && !shows) return std::nullopt;
  return 0.5 * (least + most);
}

}  // namespace

void BlockSystem::check_own_losses(Recheck& out) {
  std::vector<std::size_t> with_own;
  for (std::size_t slot = 0; slot < structure_.losses.size(); ++slot)
    if (structure_.losses[slot].is_own()) with_own.push_back(slot);
  const std::size_t stride = std::max<std::size_t>(1, with_own.size() / kMostBlocks);
  for (std::size_t k = 0; k < with_own.size(); k += stride) {
    const std::size_t slot = with_own[k];
    const Loss& loss = structure_.losses[slot];
    double s = 0;
    for (std::size_t i = 0; i < structure_.rows[slot]; ++i) {
      const double r = at_.r[structure_.list.row[slot] + i];
      s += r * r;
    }
    if (!(s > 0) || !std::isfinite(s)) continue;
    const Loss::Value given = loss(s);
    const std::optional<double> slope = slope_by_differences(loss, s, given);
    if (!slope) continue;
    const double size = std::max(std::fabs(*slope), given.slope);
    const double error = size > 0 ? std::fabs(*slope - given.slope) / size : 0;
    if (!(error > kWrongSlope) || error <= out.jacobian_difference) continue;
    out.jacobian_difference = error;
    out.wrong_loss = true;
    wrong_loss_at_ = s;
  }
}

}  // namespace nlsq::inline v0
