// The precision scheduler: from measurements to a plan. It sees no model and no data, only numbers,
// and it is a pure function of them, so that it is tested from numbers alone.
#pragma once

#include <nlsq/export.hpp>
#include <nlsq/format.hpp>
#include <nlsq/precision_policy.hpp>

#include <cstdint>

namespace nlsq::inline v0 {

// How the normal equations are formed.
enum class Gram : std::uint8_t {
  f32_tile,  // f32 J, f32 sums within a tile, flushed to f64
  f32_wide,  // f32 J, products and sums in f64
  f64,       // f64 J, products and sums
  qr,        // no normal equations: f64 tiles fold into the triangle of a streaming QR
};
NLSQ_API const char* name(Gram gram) noexcept;

// What the kernels are to execute.
struct PrecisionPlan {
  Format residual = Format::f64;  // f32 or f64
  Gram gram = Gram::f64;
  bool operator==(const PrecisionPlan&) const = default;
};

// Everything measured at one iterate, in scaled variables (columns of J of unit length).
// Norms in the metric of H are in units of the residual; divide by sigma for standard errors.
struct HealthReport {
  PrecisionPlan plan;             // in force when this was measured
  bool finite = true;             // cost, gradient and Gram matrix
  double nonfinite_tiles = 0;     // share of tiles that overflowed in f32 and were redone in f64
  bool factored = true;           // H + lambda I was numerically positive definite
  double kappa_lambda = 1;        // condition of H + lambda I
  double nu = 0;                  // ‖L⁻¹g‖: predicted residual decrease, damped
  double gradient_noise = 0;      // ‖L⁻¹ε_g‖ by the probe; 0 in f64
  double cost_noise = 0;          // ε_F by the probe; 0 in f64
  double predicted = 0;           // predicted cost decrease of the next step
  // Distance to the optimum, ν₀, as a share of the distance within which undamped steps are trusted: one
  // standard error, more after a start from samples. Huge where it is not known.
  double nearness = 1e300;
  int parameters = 1;
  int undecided_in_a_row = 0;     // gain ratios that the cost's noise left open
  bool stalled = false;           // no acceptable step was found in this precision
};

enum class Event : std::uint8_t {
  none,
  finishing,        // E9 close enough for undamped steps: the next point is evaluated in f64
  overflow,         // E1 more than 1 % of the tiles overflowed in f32
  not_definite,     // E2 the factorisation failed
  condition,        // E3 the condition number exceeds what this Gram form bears
  gradient_noise,   // E5 the gradient is noise in this precision
  cost_noise,       // E6 cost differences are noise in this precision
  stalled,          // E8 no progress in this precision
  rollback,         // f64 showed a point to be worse than the checkpoint
  sample_abandoned, // P0 the samples did not determine the parameters or did not represent the rows
};
NLSQ_API const char* name(Event event) noexcept;

struct Decision {
  PrecisionPlan plan;
  Event event = Event::none;
  bool at_trial = false;  // the plan is for the next point, not for this one again
};

// The plan a fit starts with. `row_work` is rows * operations per row, in f64 adds; below
// `entry_gate_work` a low-precision start cannot repay the extra passes it causes.
inline constexpr double kEntryGateWork = 2e6;
NLSQ_API PrecisionPlan initial_plan(const PrecisionPolicy& policy, double row_work, bool has_f32);

// The plan for the next evaluation at the same x. A plan never goes down; equal to report.plan when
// the digits in force suffice.
NLSQ_API Decision next_plan(const HealthReport& report);

// Condition number (of H + lambda I) that each Gram form bears: contraction errors stay below 0.1.
NLSQ_API double condition_limit(Gram gram, int parameters) noexcept;

}  // namespace nlsq::inline v0
