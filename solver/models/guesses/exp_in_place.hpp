// exp of a whole column. Searches for first guesses spend most of their time in it.
#pragma once

#include <span>

namespace nlsq::inline v0::guessing {

// Replaces each value by its exponential, up to a relative error of 1e-14. The compiler turns the loop into
// vector instructions, which it cannot do with std::exp. Values are limited to [-340, 709]; NaN counts as
// 709. So no result overflows, and the square of none underflows, which would be slow.
void exp_in_place(std::span<double> values);

}  // namespace nlsq::inline v0::guessing
