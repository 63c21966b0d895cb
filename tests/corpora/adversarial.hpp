// The adversarial set: problems designed to break a solver that computes in low precision. Each generator
// varies an exponent. Generators are numbered as in the table of docs/precision.md.
#pragma once

#include "problem.hpp"

#include <vector>

namespace problems {

inline constexpr int kGenerators = 18;

// Describes what a generator attacks, in a few words.
const char* attack(int generator);

// All cases of one generator. Generator 16 (NIST, Osborne, MGH) reads the project's data folder.
std::vector<Problem> adversarial(int generator);
// All cases of all generators, in order; always the same ones.
std::vector<Problem> adversarial();

}  // namespace problems
