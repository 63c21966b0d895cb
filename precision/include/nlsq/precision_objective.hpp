// What a policy is to be chosen for, and the choice among policies that have been measured.
//
// Choosing is a pure function of the measurements; who measures is another matter (policy_profile.hpp).
#pragma once

#include <nlsq/export.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace nlsq::inline v0 {

enum class Objective : std::uint8_t {
  speed,     // the fastest; target: so many times as fast as f64
  memory,    // the least peak memory; target: at most this share of f64's
  accuracy,  // the fastest of those whose parameters agree with f64's to so many digits; 12 where no target
             // is given
  balanced,  // the best weighted sum of speed, memory and accuracy, each as a share of the best of all
};
NLSQ_API const char* name(Objective objective) noexcept;

struct NLSQ_API PrecisionObjective {
  Objective objective = Objective::speed;
  std::optional<double> target;         // none for balanced
  double weights[3] = {0.4, 0.3, 0.3};  // of balanced: speed, memory, accuracy

  // speed[:2] | memory[:0.5] | accuracy[:12] | balanced[:.4,.3,.3]. Throws ValidationError.
  static PrecisionObjective parse(std::string_view text);
  std::string to_string() const;
};

// How one policy did on a problem.
struct PolicyMeasurement {
  std::string policy;          // as PrecisionPolicy::parse takes it
  double seconds = 0;          // of a fit: the least of some
  std::size_t peak_bytes = 0;  // of the solver's buffers
  double digits = 0;           // that every parameter has in common with f64's result, 16 at most
  std::size_t issues = 0;      // entries of the issue log
  int escalations = 0;
  double below_f64 = 0;    // share of row evaluations, by the kernels' counters
  bool certified = false;  // the fit ended with a certified minimum
  std::string status;      // its verdict: "CONVERGED"
};

// Policies that end without a certificate are no candidates where f64 ends with one.
struct PolicyChoice {
  std::size_t index = 0;  // among the measurements
  bool met = true;        // the target, if there was one
  std::string message;    // what was chosen and why, with figures; says so where the target is not met
};

// Times within 3 % of the best count as equal: the first of these is chosen. Throws ValidationError where no
// measurement is named f64, which all are compared with.
NLSQ_API PolicyChoice choose_policy(std::span<const PolicyMeasurement> measured,
                                    const PrecisionObjective& objective);

}  // namespace nlsq::inline v0
