// An objective says what to optimize when a precision policy is chosen, and choose_policy() picks one of the
// measured policies. The choice is a pure function of the measurements; policy_profile.hpp makes them.
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
  speed,     // the fastest; target: least speedup over f64
  memory,    // the least peak memory; target: largest fraction of f64's peak
  accuracy,  // the fastest policy whose parameters agree with f64's to `target` digits (12 if no target is
             // given)
  balanced,  // the best weighted sum of speed, memory and accuracy, each relative to the best measured
};
NLSQ_API const char* name(Objective objective) noexcept;

struct NLSQ_API PrecisionObjective {
  Objective objective = Objective::speed;
  std::optional<double> target;         // none for balanced
  double weights[3] = {0.4, 0.3, 0.3};  // for balanced: speed, memory, accuracy

  // Parses speed[:2] | memory[:0.5] | accuracy[:12] | balanced[:.4,.3,.3]. Throws ValidationError.
  static PrecisionObjective parse(std::string_view text);
  std::string to_string() const;
};

// Holds the measured result of one policy on a problem.
struct PolicyMeasurement {
  std::string policy;          // in the syntax of PrecisionPolicy::parse
  double seconds = 0;          // of one fit: the least of several runs
  std::size_t peak_bytes = 0;  // of the solver's buffers
  double digits = 0;       // decimal digits, at most 16, to which every parameter agrees with the f64 result
  std::size_t issues = 0;  // entries of the issue log
  int escalations = 0;
  double below_f64 = 0;    // fraction of row evaluations below f64, by the kernels' counters
  bool certified = false;  // the fit ended with a certified minimum
  std::string status;      // the verdict of the fit: "CONVERGED"
};

// Holds the chosen policy. If f64 ends with a certificate, a policy that ends without one is not a candidate.
struct PolicyChoice {
  std::size_t index = 0;  // index into the measurements
  bool met = true;        // whether the target was met; true if there was none
  std::string message;    // the choice and its reason, with figures; says so if the target is not met
};

// Chooses a policy. Times within 3 % of the best count as equal, and the first of those wins. Throws
// ValidationError if no measurement is named f64, because all are compared with that one.
NLSQ_API PolicyChoice choose_policy(std::span<const PolicyMeasurement> measured,
                                    const PrecisionObjective& objective);

}  // namespace nlsq::inline v0
