// What a residual costs: ½ ρ(s), s = r² (of a residual block ‖r‖²). The scale C of a robust loss is the size
// of residual from which on it counts less: ρ(s) = C² ρ₁(s / C²), as in SciPy.
#pragma once

#include <nlsq/export.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace nlsq::inline v0 {

class NLSQ_API Loss {
 public:
  enum class Kind : std::uint8_t { linear, soft_l1, huber, cauchy, arctan, tukey, poisson, own };

  Loss() = default;        // ρ₁(z) = z
  Loss(std::nullptr_t) {}  // NOLINT: implicit by design; where Ceres's callers write nullptr
  // Throw ValidationError unless the scale is positive and finite.
  static Loss soft_l1(double scale = 1) { return Loss(Kind::soft_l1, scale); }  // 2(√(1+z) - 1)
  static Loss huber(double scale = 1) { return Loss(Kind::huber, scale); }      // z, beyond 1: 2√z - 1
  static Loss cauchy(double scale = 1) { return Loss(Kind::cauchy, scale); }    // ln(1+z)
  static Loss arctan(double scale = 1) { return Loss(Kind::arctan, scale); }    // arctan z
  static Loss tukey(double scale = 1) { return Loss(Kind::tukey, scale); }  // (1 - (1-z)³)/3, beyond 1: 1/3
  // Of curve fits alone: y are counts, and their deviance takes the place of r², 2(y ln(y/f) - y + f). The
  // standard deviation of a count is √f: no sigma is given.
  static Loss poisson() { return Loss(Kind::poisson, 1); }
  // By name: "linear", "soft_l1" ... Throws ValidationError for a name that is none, or a scale as above.
  static Loss named(std::string_view name, double scale = 1);

  struct Value {
    double rho, slope;  // ρ and dρ/ds
  };
  // Any other: ρ and its slope, which is not negative, at s >= 0; of blocks alone. Called on all threads of a
  // solve. Throws ValidationError where the function is empty.
  static Loss own(std::function<Value(double s)> rho);

  Kind kind() const { return kind_; }
  double scale() const { return scale_; }
  bool is_linear() const { return kind_ == Kind::linear; }
  bool is_counts() const { return kind_ == Kind::poisson; }
  bool is_own() const { return kind_ == Kind::own; }
  bool is_robust() const { return !is_linear() && !is_counts(); }
  const char* name() const;
  bool operator==(const Loss&) const = default;

  // Of residuals; that of counts is no function of r², and is linear here.
  Value operator()(double s) const;
  // d²ρ/ds²; NaN for one's own.
  double curvature(double s) const;

 private:
  Loss(Kind kind, double scale);
  Kind kind_ = Kind::linear;
  double scale_ = 1;
  std::shared_ptr<const std::function<Value(double)>> own_;
};

}  // namespace nlsq::inline v0
