// Declares the generators of the adversarial set, and helpers that build their cases.
#pragma once

#include "problem.hpp"

#include <functional>
#include <string>
#include <vector>

namespace problems::adversarial_cases {

using nlsq::Event;
using Cases = std::vector<Problem>;

// Returns `count` evenly spaced numbers from low to high.
std::vector<double> spaced(double low, double high, std::size_t count);
// Returns a curve with data y = f(x) + level * normal.
Problem curve(int generator, std::string name, std::string equation, std::vector<double> x,
              const std::function<double(double)>& f, double level, nlsq::NamedValues p0);

// These are generators 1 to 10, about digits of data, parameters and residuals.
Cases big_response_offset();
Cases big_predictor_offset();
Cases scaled_columns();
Cases collinear_exponentials();
Cases confounded();
Cases overflow_in_f32();
Cases overflow_at_trial();
Cases cancellation();
Cases zero_residual();
Cases large_residual();

// These are generators 11 to 18, about rows, derivatives and paths to the optimum.
Cases polynomials();
Cases constant_predictor();
Cases tiny_and_huge();
Cases narrow_peak();
Cases identical_rows();
Cases classics();
Cases winding();
Cases differences();

}  // namespace problems::adversarial_cases
