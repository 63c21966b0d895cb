// The adversarial set: problems made to break a solver that computes in low precision, each generator
// swept over its exponent. Numbers are those of the table in docs/precision.md.
#pragma once

#include "problem.hpp"

#include <vector>

namespace problems {

inline constexpr int kGenerators = 18;

// What a generator attacks, in a few words.
const char* attack(int generator);

// All cases of one generator. 16 (NIST, Osborne, MGH) reads the project's data folder.
std::vector<Problem> adversarial(int generator);
// All of them, in order; always the same ones.
std::vector<Problem> adversarial();

}  // namespace problems
