// Declares the distributions that reports use.
#pragma once

#include <nlsq/statistics.hpp>

namespace nlsq::cli {

using nlsq::chi_square_p_value;
using nlsq::incomplete_beta;
using nlsq::incomplete_gamma_upper;
using nlsq::student_t_coverage;
using nlsq::student_t_quantile;

}  // namespace nlsq::cli
