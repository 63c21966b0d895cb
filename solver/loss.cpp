#include <nlsq/error.hpp>
#include <nlsq/loss.hpp>

#include <cmath>
#include <utility>

namespace nlsq::inline v0 {

Loss::Loss(Kind kind, double scale) : kind_(kind), scale_(scale) {
  if (!(scale > 0) || !std::isfinite(scale)) {
    throw ValidationError("a loss's scale is a positive number, not " + std::to_string(scale));
  }
}

Loss Loss::own(std::function<Value(double)> rho) {
  if (!rho) throw ValidationError("Loss::own: the function is empty");
  Loss loss(Kind::own, 1);
  loss.own_ = std::make_shared<const std::function<Value(double)>>(std::move(rho));
  return loss;
}

Loss::Value Loss::operator()(double s) const {
  const double squared = scale_ * scale_, z = s / squared;
  switch (kind_) {
    case Kind::linear: break;
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
      return {squared / 3 * (1 - rest * rest * rest), rest * rest};
    }
  }
  return {s, 1};
}

}  // namespace nlsq::inline v0
