// What one operation on one row costs, in units of one add: a constant table, so that no decision
// reads a clock.
#pragma once

#include <nlsq/op.hpp>

namespace nlsq::inline v0 {

double op_cost(Op op) noexcept;

}  // namespace nlsq::inline v0
