// Declares the adversarial set: problems designed to break a solver that computes in low precision. Each
// generator varies an exponent. Generators are numbered as in the table of docs/precision.md.
#pragma once

#include "problem.hpp"

#include <vector>

namespace problems {

inline constexpr int kGenerators = 18;

// Describes in a few words what a generator attacks.
const char* attack(int generator);

// Returns all cases of one generator. Generator 16 (NIST, Osborne, MGH) reads the project's data folder.
std::vector<Problem> adversarial(int generator);
// Returns all cases of all generators, in order. They are always the same.
std::vector<Problem> adversarial();

}  // namespace problems
