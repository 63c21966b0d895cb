// The cost of one operation on one row, in units of one addition. It is a constant table, so that no decision
// uses a clock.
#pragma once

#include <nlsq/op.hpp>

namespace nlsq::inline v0 {

double op_cost(Op op) noexcept;

}  // namespace nlsq::inline v0
