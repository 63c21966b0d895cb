// Declares the first guess of a sum of models.
#pragma once

#include "models/guesses/sample.hpp"

#include <nlsq/formula.hpp>
#include <nlsq/models.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace nlsq::inline v0::guessing {

// This is a model in the sum, and the places of its parameters.
struct Part {
  const Model* model = nullptr;
  ModelTerm term;
  Formula formula;                  // of the term, without the constant
  std::vector<std::size_t> of_sum;  // index of each of the model's parameters in the sum; npos for the
                                    // constant
  std::size_t constant = npos;      // index of the model's additive constant in the model
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);
};

// The constant into which those of all models are merged.
inline constexpr const char* kSharedConstant = "c";

// Returns the formula of the sum of these parts, with one constant if any of them has one.
std::string join(std::span<const Part* const> parts);

// Guesses the parameters of `formula`, the sum of `parts`. `constant` is the index of the shared constant
// among them, or npos.
GuessRule sum_guess(std::vector<Part> parts, Formula formula, std::size_t constant);

}  // namespace nlsq::inline v0::guessing
