// The precision scheduler turns measurements into the plan for the next evaluation. The minimizer calls it.
// It has access to neither model nor data, and is a pure function of numbers, so tests need numbers only.
#pragma once

#include <nlsq/export.hpp>
#include <nlsq/format.hpp>
#include <nlsq/precision_policy.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace nlsq::inline v0 {

// Lists the ways to form the normal equations, from the cheapest to the most accurate. In every form the
// tiles of rows are summed in f64.
enum class Gram : std::uint8_t {
  f16,       // J scaled by powers of two and rounded to f16, products and tile sums in f32
  bf16,      // J rounded to bf16, products exact, tile sums in f32
  f32_tile,  // f32 J, f32 sums within a tile
  f32_wide,  // f32 J, products and sums in f64
  f64,       // f64 J, products and sums
  qr,        // no normal equations: a streaming QR folds f64 tiles into its triangular factor
};
NLSQ_API const char* name(Gram gram) noexcept;

// Holds the formats that the kernels use in one evaluation.
struct PrecisionPlan {
  Format residual = Format::f64;  // f32 or f64: rows, costs and gradients
  Gram gram = Gram::f64;          // f64 and qr need f64 rows; the other forms take rows of either format
  bool operator==(const PrecisionPlan&) const = default;
};
// Returns the formats of the four parts under a plan, and the plan for valid formats.
NLSQ_API PartFormats formats_of(const PrecisionPlan& plan) noexcept;
NLSQ_API PrecisionPlan plan_of(const PartFormats& formats) noexcept;

// Returns, for each part, the wider (or the narrower) format of two plans.
NLSQ_API PrecisionPlan wider(const PrecisionPlan& a, const PrecisionPlan& b) noexcept;
NLSQ_API PrecisionPlan narrower(const PrecisionPlan& a, const PrecisionPlan& b) noexcept;
inline constexpr PrecisionPlan kNarrowestPlan{Format::f32, Gram::f16};

// Names the narrowest format in the plan: "f64", "f32", "bf16". The name is "f64+bf16" if rows are f64 and
// the Gram matrix is narrower.
NLSQ_API std::string short_name(const PrecisionPlan& plan);

// Holds all measurements at one iterate, in scaled variables (columns of J have unit length). Norms in the
// metric of H have the units of the residual; divide them by sigma to get standard errors.
struct HealthReport {
  PrecisionPlan plan;          // the plan in force during the measurement
  bool finite = true;          // cost, gradient and Gram matrix are finite
  double nonfinite_tiles = 0;  // fraction of tiles that overflowed in f32 and were recomputed in f64
  bool factored = true;        // H + lambda I was numerically positive definite
  double kappa_lambda = 1;     // condition number of H + lambda I
  double lambda = 0;           // damping of the next step
  double nu = 0;               // ‖L⁻¹g‖: predicted decrease of the residual norm, with damping
  double gradient_noise = 0;   // ‖L⁻¹ε_g‖, from the sampled rows; 0 in f64
  double grid_noise = 0;       // ‖Lᵀδ‖, where δ is the rounding of the next point to f32; 0 in f64
  double cost_noise = 0;       // ε_F, from the sampled rows; 0 in f64
  double predicted = 0;        // predicted cost decrease of the next step
  double epsilon_j = 0;  // ε_J = ‖(J̃ - J)L⁻ᵀ‖₂ of a J rounded to 16 bits, from the sampled rows; 0 otherwise
  double contraction = 0;  // η: relative error of the next step due to the rounding of J, from the same rows
  // This is the distance to the optimum, divided by the distance within which undamped steps are trusted: at
  // most 1 means that they are trusted here. For curves these are ν₀ and one standard error, or more after a
  // start from samples. For blocks they are ν of a step with little damping and a hundredth of a standard
  // error. The value is huge if the distance is unknown.
  double relative_distance = 1e300;
  int parameters = 1;
  double rows = 0;             // of a curve or residual function; 0 for block problems
  int undecided_in_a_row = 0;  // consecutive gain ratios that the noise of the cost left undecided
  bool rejected = false;       // the last step proposed at this point under this plan was rejected
  bool stalled = false;        // no acceptable step was found in this precision
  int descents = 0;            // times that a rule lowered the Gram matrix so far
  double wasted = 0;  // work discarded by escalations and rollbacks so far, as a fraction of the rest
  // True where residuals are always f64 and cost far less than derivatives. The plan then concerns J alone.
  bool residuals_stay_f64 = false;
  // False if no sample measures how the rounding of J changes a step. `rejected` is then trusted.
  bool contraction_known = true;
  double last_decrease = 1;  // relative decrease of the cost by the last accepted step
  // Consecutive accepted steps whose decrease of the cost differed from the predicted one by more than half.
  int poor_predictions = 0;
  double wide_price = 0;  // work of a pass with f32 rows and f64 sums, over that of a pass all in f64
};

// The reasons that the trace states beside the outcome of a step, most of all why the precision changed.
// next_plan returns the events up to `stalled`. The minimizer and the start on samples also use some of
// these, and add the last three.
enum class Event : std::uint8_t {
  none,
  rule,              // a rule of the policy held
  finishing,         // close enough to the optimum for undamped steps: the next point is evaluated in f64
  overflow,          // too many tiles overflowed in f32 (1 % by default), or a sum is not finite
  not_definite,      // the factorization failed
  condition,         // the condition number exceeds the limit of this Gram form
  jacobian_error,    // the rounding of J changes the step too much
  gradient_noise,    // noise dominates the gradient, or the position of the next point, in this precision
  cost_noise,        // noise dominates the differences of the cost in this precision
  rejected_step,     // a rejection attributed to the Gram matrix and not to the damping
  stalled,           // no progress in this precision
  last_step,         // the result of the next step is known without another pass
  rollback,          // an f64 evaluation showed that a point is worse than the checkpoint
  sample_abandoned,  // the samples did not determine the parameters or did not represent the rows
};
NLSQ_API const char* name(Event event) noexcept;

struct Decision {
  PrecisionPlan plan;
  Event event = Event::none;
  bool at_trial = false;  // the plan is for the next point; false: this point is evaluated again
  std::optional<RuleMatch> rule = std::nullopt;  // set if event == rule
};

// Holds the properties of a problem that decide how it starts.
struct FitSize {
  double row_work = 0;  // rows * operations per row, in f64 additions
  int parameters = 1;
  bool has_f32 = true;            // rows can be evaluated in f32
  bool sixteen_bits_pay = false;  // the kernels multiply 16-bit numbers faster than f32
  bool linear = false;  // linear in all parameters: one f64 pass solves the problem, another certifies it
};

// Returns the plan that a fit starts with. The plan is f64 below thresholds.entry_work and for a linear
// model, because a low-precision start cannot repay the extra passes that it causes. Otherwise it is the
// cheapest Gram form that pays for this number of parameters.
NLSQ_API PrecisionPlan initial_plan(const PrecisionPolicy& policy, const FitSize& size);

// Returns the plan for the next evaluation, at the same x or at the next one (`at_trial`). It equals
// report.plan if the current precision suffices. Residuals are never lowered. Only the policy's rules, which
// are checked first, lower the Gram matrix, at most thresholds.descents times.
NLSQ_API Decision next_plan(const HealthReport& report, const PrecisionPolicy& policy,
                            const RuleValues& values = {});

// Returns the largest condition number of H + lambda I that a Gram form allows. It keeps contraction errors
// below thresholds.gram_contraction. The 16-bit forms have no such limit: the measured ε_J decides.
NLSQ_API double condition_limit(Gram gram, int parameters, const Thresholds& thresholds = {},
                                double rows = 0) noexcept;

}  // namespace nlsq::inline v0
