// Makes bundle adjustment from parameter and residual blocks, and options of a precision policy.
#pragma once

#include <bal.hpp>

#include <nlsq/curve_fit.hpp>
#include <nlsq/error.hpp>
#include <nlsq/problem.hpp>

namespace bal_blocks {

using namespace nlsq;

inline void add_all(Problem& problem, bal::Problem& scene, const Loss& loss = nullptr) {
  for (int c = 0; c < scene.cameras; ++c) problem.add_parameter_block(scene.camera(c), 9);
  for (int p = 0; p < scene.points; ++p) problem.add_parameter_block(scene.point(p), 3);
  for (const bal::Observation& o : scene.observations) {
    problem.add_residual_block<2>(bal::Reprojection{o.x, o.y}, loss,
                                  {scene.camera(o.camera), scene.point(o.point)});
  }
}

inline SolverOptions with(const char* policy, int threads = 1) {
  SolverOptions options;
  options.precision = PrecisionPolicy::parse(policy);
  options.threads = threads;
  return options;
}

}  // namespace bal_blocks
