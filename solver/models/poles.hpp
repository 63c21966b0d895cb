// Poles of fitted ratios of polynomials: places where the denominator is 0 (rationals.cpp).
#pragma once

#include <nlsq/column.hpp>
#include <nlsq/models.hpp>

#include <optional>
#include <span>
#include <string>

namespace nlsq::inline v0::guessing {

// Returns a zero of 1 + b[0] v + b[1] v^2 within [low, high], if there is one. `b` has one or two
// coefficients.
std::optional<double> pole_within(std::span<const double> b, double low, double high);

// Returns a warning with the place of a pole if the fitted curve of rational11 or rational22 has one within
// the range of x; else an empty string.
std::string pole_warning(const Model& model, std::span<const double> parameters, const Column& x);

}  // namespace nlsq::inline v0::guessing
