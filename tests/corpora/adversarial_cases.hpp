// The generators of the adversarial set, and what their cases are made of.
#pragma once

#include "problem.hpp"

#include <functional>
#include <string>
#include <vector>

namespace problems::adversarial_cases {

using nlsq::Event;
using Cases = std::vector<Problem>;

// `count` numbers from low to high, evenly spaced.
std::vector<double> spaced(double low, double high, std::size_t count);
// y = f(x) + level * normal.
Problem curve(int generator, std::string name, std::string equation, std::vector<double> x,
              const std::function<double(double)>& f, double level, nlsq::NamedValues p0);

// Of the digits of data, parameters and residuals: generators 1 to 10.
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

// Of rows, derivatives and ways to the optimum: generators 11 to 18.
Cases polynomials();
Cases constant_predictor();
Cases tiny_and_huge();
Cases narrow_peak();
Cases identical_rows();
Cases classics();
Cases winding();
Cases differences();

}  // namespace problems::adversarial_cases
