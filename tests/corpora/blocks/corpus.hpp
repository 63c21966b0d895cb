// The adversarial corpus of block problems: families of small problems made to break a solver of
// nlsq::Problem, and of ceres::Problem's through nlsq::Solve. The same ones always; each is solved in
// milliseconds.
#pragma once

#include "scene.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace blocks {

enum class Kind : std::uint8_t {
  healthy,    // has a minimum that float64 can find; a wrong success is wrong
  deficient,  // the data do not determine all directions: CONVERGED is wrong, RANK_DEFICIENT is right
  singular,   // of full rank around the minimum, deficient at it: either rank is right
  chaotic,    // several minima, and a start from which rounding decides between them: a worse one is no loss
  hostile,    // its derivatives lie: no success is expected, and one that is claimed must be true
  changing,   // its functions do not repeat: the same, and no run is held against another
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
void add_programs(std::vector<Case>& cases);  // of the kinds that Ceres's examples show

// All of them, in order.
std::vector<Case> corpus();

}  // namespace blocks
