// Declares the adversarial corpus of block problems: families of small problems designed to break a solver of
// nlsq::Problem, and of ceres::Problem through nlsq::Solve. They are always the same, and each takes
// milliseconds.
#pragma once

#include "scene.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace blocks {

enum class Kind : std::uint8_t {
  healthy,    // has a minimum that float64 can find; a wrong success is an error
  deficient,  // the data do not determine all directions: CONVERGED is wrong, RANK_DEFICIENT is right
  singular,   // has full rank near the minimum, but not at it: either rank is accepted
  chaotic,    // several minima, and rounding decides which one is reached: a worse minimum is accepted
  hostile,    // its derivatives are wrong: success is not expected, and a claimed success must be true
  changing,   // its functions do not repeat: as hostile, and runs are not compared with each other
};

struct Case {
  std::string family, name;
  std::function<Scene()> make;
  Kind kind = Kind::healthy;
};

void add_curves(std::vector<Case>& cases);
void add_published(std::vector<Case>& cases);  // Moré, Garbow, Hillstrom
void add_bundles(std::vector<Case>& cases);
void add_poses(std::vector<Case>& cases);
void add_ranges(std::vector<Case>& cases);
void add_robust(std::vector<Case>& cases);
void add_bounded(std::vector<Case>& cases);
void add_degenerate(std::vector<Case>& cases);
void add_manifolds(std::vector<Case>& cases);
void add_hostile(std::vector<Case>& cases);
void add_programs(std::vector<Case>& cases);  // of the kinds in Ceres's examples

// Returns all of them, in order.
std::vector<Case> corpus();

}  // namespace blocks
