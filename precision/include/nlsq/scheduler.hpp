// The precision scheduler: from measurements to a plan. It sees no model and no data, only numbers,
// and it is a pure function of them, so that it is tested from numbers alone.
#pragma once

#include <nlsq/export.hpp>
#include <nlsq/format.hpp>
#include <nlsq/precision_policy.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace nlsq::inline v0 {

// How the normal equations are formed, from the cheapest up. Whatever the form, tiles are added up in f64.
enum class Gram : std::uint8_t {
  f16,       // J rounded to f16 by powers of two, products and tile sums in f32
  bf16,      // J rounded to bf16, products exact, tile sums in f32
  f32_tile,  // f32 J, f32 sums within a tile
  f32_wide,  // f32 J, products and sums in f64
  f64,       // f64 J, products and sums
  qr,        // no normal equations: f64 tiles fold into the triangle of a streaming QR
};
NLSQ_API const char* name(Gram gram) noexcept;

// What the kernels are to execute.
struct PrecisionPlan {
  Format residual = Format::f64;  // f32 or f64: rows, costs and gradients
  Gram gram = Gram::f64;          // f64 and qr need f64 rows; forms below f64 take rows of either format
  bool operator==(const PrecisionPlan&) const = default;
};
// The formats of the four parts under a plan, and the plan that sound formats ask for.
NLSQ_API PartFormats formats_of(const PrecisionPlan& plan) noexcept;
NLSQ_API PrecisionPlan plan_of(const PartFormats& formats) noexcept;

// The wider of each part of two plans; the narrower of each.
NLSQ_API PrecisionPlan wider(const PrecisionPlan& a, const PrecisionPlan& b) noexcept;
NLSQ_API PrecisionPlan narrower(const PrecisionPlan& a, const PrecisionPlan& b) noexcept;
inline constexpr PrecisionPlan kNarrowestPlan{Format::f32, Gram::f16};

// The fewest digits in it: "f64", "f32", "bf16"; "f64+bf16" where rows are f64 and the Gram matrix is below.
NLSQ_API std::string short_name(const PrecisionPlan& plan);

// Everything measured at one iterate, in scaled variables (columns of J of unit length).
// Norms in the metric of H are in units of the residual; divide by sigma for standard errors.
struct HealthReport {
  PrecisionPlan plan;          // in force when this was measured
  bool finite = true;          // cost, gradient and Gram matrix
  double nonfinite_tiles = 0;  // share of tiles that overflowed in f32 and were redone in f64
  bool factored = true;        // H + lambda I was numerically positive definite
  double kappa_lambda = 1;     // condition of H + lambda I
  double lambda = 0;           // damping of the next step
  double nu = 0;               // ‖L⁻¹g‖: predicted residual decrease, damped
  double gradient_noise = 0;   // ‖L⁻¹ε_g‖ by the probe; 0 in f64
  double grid_noise = 0;  // ‖Lᵀδ‖, δ what rounding the next point to f32's grid moves it by; 0 in f64
  double cost_noise = 0;  // ε_F by the probe; 0 in f64
  double predicted = 0;   // predicted cost decrease of the next step
  double epsilon_j = 0;  // ε_J = ‖(J̃ - J)L⁻ᵀ‖₂ of a J rounded to 16 bits, by the probe's rows; 0 else
  double epsilon_j_below = 1;  // the same for the 16-bit form that the policy's floor allows
  double contraction = 0;      // η: error of the next step through J's rounding, by the same rows
  // Distance to the optimum, ν₀, as a share of the distance within which undamped steps are trusted: one
  // standard error, more after a start from samples. Huge where it is not known.
  double nearness = 1e300;
  int parameters = 1;
  bool sixteen_bits_pay = false;  // the kernels multiply 16-bit numbers faster than f32
  int undecided_in_a_row = 0;     // gain ratios that the cost's noise left open
  bool rejected = false;          // the last step proposed here, in this plan, was rejected
  bool stalled = false;           // no acceptable step was found in this precision
  int good_steps = 0;             // accepted in a row under this plan
  int descents = 0;               // made so far
  double wasted = 0;              // work discarded so far, by promotions and returns, as a share of the rest
  // Of problems whose residuals are f64 always, and cost far less than derivatives: the plan is about J
  // alone.
  bool derivatives_apart = false;
  bool contraction_known =
      true;  // else no sample tells what J's rounding does to a step, and `rejected` is trusted
  double last_decrease = 1;  // of the cost, relative, by the last step accepted
  double gain = 1;           // of the last step: what the cost fell by, over what was predicted
};

enum class Event : std::uint8_t {
  none,
  rule,              // a rule of the policy's held
  finishing,         // E9 close enough for undamped steps: the next point is evaluated in f64
  overflow,          // E1 more than 1 % of the tiles overflowed in f32
  not_definite,      // E2 the factorisation failed
  condition,         // E3 the condition number exceeds what this Gram form bears
  jacobian_error,    // E4 a J of so few digits spoils the step
  gradient_noise,    // E5 the gradient, or the place of the next point, is noise in this precision
  cost_noise,        // E6 cost differences are noise in this precision
  rejected_step,     // E7 a rejection put down to the Gram matrix, not to the damping
  stalled,           // E8 no progress in this precision
  descent,           // digits to spare: the next Gram matrix is cheaper
  last_step,         // what the next step leaves is known without another pass
  rollback,          // f64 showed a point to be worse than the checkpoint
  sample_abandoned,  // P0 the samples did not determine the parameters or did not represent the rows
};
NLSQ_API const char* name(Event event) noexcept;

struct Decision {
  PrecisionPlan plan;
  Event event = Event::none;
  bool at_trial = false;                         // the plan is for the next point, not for this one again
  std::optional<RuleMatch> rule = std::nullopt;  // event == rule
};

// What the entry gate looks at.
struct FitSize {
  double row_work = 0;  // rows * operations a row, in f64 adds
  int parameters = 1;
  bool has_f32 = true;            // rows can be evaluated in f32
  bool sixteen_bits_pay = false;  // as in HealthReport
  bool linear = false;            // in all parameters: one f64 pass solves the problem, another certifies it
};

// The plan a fit starts with. Below thresholds.entry_work, or where the model is linear, a low-precision
// start cannot repay the extra passes it causes; beyond, the cheapest Gram form that pays for so many
// parameters.
NLSQ_API PrecisionPlan initial_plan(const PrecisionPolicy& policy, const FitSize& size);

// The plan for the next evaluation: at the same x, or at the next (`at_trial`). Equal to report.plan when
// the digits in force suffice. Residuals never go down; the Gram matrix at most thresholds.descents times.
// Rules are asked first.
NLSQ_API Decision next_plan(const HealthReport& report, const PrecisionPolicy& policy,
                            const RuleValues& values = {});

// Condition number (of H + lambda I) that each Gram form bears: contraction errors stay below
// thresholds.gram_contraction. For 16 bits there is none: the measured ε_J decides.
NLSQ_API double condition_limit(Gram gram, int parameters, const Thresholds& thresholds = {}) noexcept;

}  // namespace nlsq::inline v0
