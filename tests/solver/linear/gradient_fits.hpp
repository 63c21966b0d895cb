// Solves bundle adjustment by a given way of computing steps.
#pragma once

#include "blocks/prepared_problem.hpp"
#include "linear/conjugate_gradients.hpp"

#include <nlsq/curve_fit.hpp>
#include <nlsq/error.hpp>
#include <nlsq/problem.hpp>
#include <nlsq/problem_control.hpp>

#include <vector>

#include "bal_blocks.hpp"

namespace gradient_fits {

using namespace nlsq;
using bal_blocks::add_all;

inline SolverOptions by(StepSolver how, const char* policy = "auto", int threads = 1) {
  SolverOptions options;
  options.step_solver = how;
  options.precision = PrecisionPolicy::parse(policy);
  options.threads = threads;
  return options;
}

inline BlockRef two(std::vector<double>& numbers, std::size_t k) {
  return std::span(numbers).subspan(2 * k, 2);
}

}  // namespace gradient_fits
