// Defines loss functions. The cost of a residual is ½ ρ(s) with s = r², or s = ‖r‖² for a residual block. A
// robust loss has a scale C, beyond which a residual counts less: ρ(s) = C² ρ₁(s / C²), as in SciPy. Options
// of fits and block problems use it.
#pragma once

#include <nlsq/export.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

namespace nlsq::inline v0 {

class NLSQ_API Loss {
 public:
  enum class Kind : std::uint8_t { linear, soft_l1, huber, cauchy, arctan, tukey, poisson, own };

  Loss() = default;        // ρ₁(z) = z
  Loss(std::nullptr_t) {}  // NOLINT: implicit by design; Ceres's callers pass nullptr
  // These throw ValidationError unless the scale is positive and finite. The comments give ρ₁(z).
  static Loss soft_l1(double scale = 1) { return Loss(Kind::soft_l1, scale); }  // 2(√(1+z) - 1)
  static Loss huber(double scale = 1) { return Loss(Kind::huber, scale); }      // z; for z > 1: 2√z - 1
  static Loss cauchy(double scale = 1) { return Loss(Kind::cauchy, scale); }    // ln(1+z)
  static Loss arctan(double scale = 1) { return Loss(Kind::arctan, scale); }    // arctan z
  static Loss tukey(double scale = 1) { return Loss(Kind::tukey, scale); }  // (1 - (1-z)³)/3; for z > 1: 1/3
  // This loss is for curve fits only. The y are counts, and their deviance 2(y ln(y/f) - y + f) replaces r².
  // The standard deviation of a count is √f, so no sigma is given.
  static Loss poisson() { return Loss(Kind::poisson, 1); }
  // Returns the loss with this name: "linear", "soft_l1" ... Throws ValidationError for an unknown name or an
  // invalid scale.
  static Loss named(std::string_view name, double scale = 1);

  struct Value {
    double rho, slope;  // ρ and dρ/ds
  };
  // A custom loss, which only residual blocks can have. The function returns ρ and its slope, which must not
  // be negative, at s >= 0. All threads of a solve call it. Throws ValidationError if the function is empty.
  static Loss own(std::function<Value(double s)> rho);

  Kind kind() const { return kind_; }
  double scale() const { return scale_; }
  bool is_linear() const { return kind_ == Kind::linear; }
  bool is_counts() const { return kind_ == Kind::poisson; }
  bool is_own() const { return kind_ == Kind::own; }
  bool is_robust() const { return !is_linear() && !is_counts(); }
  const char* name() const;
  bool operator==(const Loss&) const = default;

  // Evaluates the loss of a residual. The Poisson loss is not a function of r² and is treated as linear here.
  Value operator()(double s) const;
  // Returns d²ρ/ds². It is NaN for a custom loss.
  double curvature(double s) const;

 private:
  Loss(Kind kind, double scale);
  Kind kind_ = Kind::linear;
  double scale_ = 1;
  std::shared_ptr<const std::function<Value(double)>> own_;
};

}  // namespace nlsq::inline v0
