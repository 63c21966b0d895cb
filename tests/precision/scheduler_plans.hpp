// Defines plans and health reports that tests of the scheduler share.
#pragma once

#include <nlsq/scheduler.hpp>

#include <doctest/doctest.h>

namespace scheduler_plans {

using namespace nlsq;

inline constexpr PrecisionPlan half{Format::f32, Gram::bf16}, tile{Format::f32, Gram::f32_tile},
    wide{Format::f32, Gram::f32_wide}, f64{Format::f64, Gram::f64}, qr{Format::f64, Gram::qr};
inline constexpr PrecisionPlan all[] = {half, tile, wide, f64, qr};
inline constexpr PrecisionPlan mixed{Format::f64,
                                     Gram::bf16};  // f64 rows, J rounded for the Gram matrix alone

// Returns a report in which nothing is wrong, so that any plan has enough digits.
inline HealthReport healthy(PrecisionPlan plan) {
  HealthReport h;
  h.plan = plan;
  h.kappa_lambda = 10;
  h.nu = 1;
  h.predicted = 1;
  h.parameters = 4;
  return h;
}

inline void check_edge(const HealthReport& h, PrecisionPlan to, Event event) {
  const Decision d = next_plan(h, {});
  CHECK(d.plan == to);
  CHECK(d.event == event);
}

}  // namespace scheduler_plans
