// Defines values, slopes and names of loss functions.
#include <nlsq/error.hpp>
#include <nlsq/loss.hpp>

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

namespace nlsq::inline v0 {

namespace {

// The names of the losses, in the order of Loss::Kind. The last kind, `own`, has no name to choose it by.
constexpr const char* kNames[] = {"linear", "soft_l1", "huber", "cauchy", "arctan", "tukey", "poisson"};
static_assert(std::size(kNames) == static_cast<std::size_t>(Loss::Kind::own));

}  // namespace

Loss::Loss(Kind kind, double scale) : kind_(kind), scale_(scale) {
  if (!(scale > 0) || !std::isfinite(scale)) {
    throw ValidationError(
        fmt::format("loss {}: its scale is a positive, finite number, not {}", name(), scale));
  }
}

Loss Loss::own(std::function<Value(double)> rho) {
  if (!rho) throw ValidationError("Loss::own: the function is empty");
  Loss loss(Kind::own, 1);
  loss.own_ = std::make_shared<const std::function<Value(double)>>(std::move(rho));
  return loss;
}

const char* Loss::name() const { return is_own() ? "own" : kNames[static_cast<std::size_t>(kind_)]; }

Loss Loss::named(std::string_view name, double scale) {
  for (std::size_t k = 0; k < std::size(kNames); ++k) {
    if (name != kNames[k]) continue;
    const auto kind = static_cast<Kind>(k);
    Loss loss(kind, scale);
    if (!loss.is_robust()) loss.scale_ = 1;
    return loss;
  }
  throw ValidationError(fmt::format("there is no loss '{}': use one of {}", name, fmt::join(kNames, ", ")));
}

Loss::Value Loss::operator()(double s) const {
  const double squared = scale_ * scale_, z = s / squared;
  switch (kind_) {
    case Kind::linear:
    case Kind::poisson: break;
    case Kind::own: return (*own_)(s);
    case Kind::soft_l1: {
      const double root = std::sqrt(1 + z);
      return {squared * 2 * (z / (root + 1)), 1 / root};  // √(1+z) - 1 without cancellation
    }
    case Kind::huber:
      if (z <= 1) break;
      return {squared * (2 * std::sqrt(z) - 1), 1 / std::sqrt(z)};
    case Kind::cauchy: return {squared * std::log1p(z), 1 / (1 + z)};
    case Kind::arctan: return {squared * std::atan(z), 1 / (1 + z * z)};
    case Kind::tukey: {
      if (z > 1) return {squared / 3, 0};
      const double rest = 1 - z;
      return {squared * z * (1 - z + z * z / 3), rest * rest};  // 1 - (1-z)³ without cancellation
    }
  }
  return {s, 1};
}

double Loss::curvature(double s) const {
  const double squared = scale_ * scale_, z = s / squared, slope = (*this)(s).slope;
  switch (kind_) {
    case Kind::linear:
    case Kind::poisson: break;
    case Kind::own: return std::numeric_limits<double>::quiet_NaN();
    case Kind::soft_l1: return -0.5 * slope * slope * slope / squared;
    case Kind::huber: return z <= 1 ? 0 : -0.5 * slope / z / squared;
    case Kind::cauchy: return -slope * slope / squared;
    case Kind::arctan: return -2 * z * slope * slope / squared;
    case Kind::tukey: return z <= 1 ? -2 * (1 - z) / squared : 0;
  }
  return 0;
}

}  // namespace nlsq::inline v0
