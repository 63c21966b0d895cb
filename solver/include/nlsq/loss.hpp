// What a residual block costs: ½ ρ(s), s = ‖r‖². The scale C of a robust loss is the size of residual from which
// on it counts less: ρ(s) = C² ρ₁(s / C²), as in SciPy.
#pragma once

#include <nlsq/export.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace nlsq::inline v0 {

class NLSQ_API Loss {
 public:
  enum class Kind : std::uint8_t { linear, soft_l1, huber, cauchy, arctan, tukey, own };

  Loss() = default;              // ρ₁(z) = z
  Loss(std::nullptr_t) {}        // NOLINT: implicit by design; where Ceres's callers write nullptr
  // Throw ValidationError unless the scale is positive and finite.
  static Loss soft_l1(double scale = 1) { return Loss(Kind::soft_l1, scale); }  // 2(√(1+z) - 1)
  static Loss huber(double scale = 1) { return Loss(Kind::huber, scale); }      // z, beyond 1: 2√z - 1
  static Loss cauchy(double scale = 1) { return Loss(Kind::cauchy, scale); }    // ln(1+z)
  static Loss arctan(double scale = 1) { return Loss(Kind::arctan, scale); }    // arctan z
  static Loss tukey(double scale = 1) { return Loss(Kind::tukey, scale); }      // (1 - (1-z)³)/3, beyond 1: 1/3

  struct Value {
    double rho, slope;  // ρ and dρ/ds
  };
  // Any other: ρ and its slope, which is not negative, at s >= 0. Called on all threads of a solve. Throws
  // ValidationError where the function is empty.
  static Loss own(std::function<Value(double s)> rho);

  Kind kind() const { return kind_; }
  double scale() const { return scale_; }
  bool is_linear() const { return kind_ == Kind::linear; }

  Value operator()(double s) const;

 private:
  Loss(Kind kind, double scale);
  Kind kind_ = Kind::linear;
  double scale_ = 1;
  std::shared_ptr<const std::function<Value(double)>> own_;
};

}  // namespace nlsq::inline v0
