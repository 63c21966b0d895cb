// Loops written by hand and compiled once for each instruction set (isa_loops.cpp): what the tile
// programs are measured against, and what measures the machine.
#pragma once

#include <cstddef>

namespace bench {

enum class FusedModel { exp, gaussian, biexp, logistic, sine, power, rational22 };

// Sums of one pass: the upper triangle by rows of [J | r]ᵀ[J | r], in double.
using FusedF64 = void (*)(FusedModel model, const double* x, const double* y, std::size_t rows,
                          const double* p, double* sums);
using FusedF32 = void (*)(FusedModel model, const float* x, const float* y, std::size_t rows, const double* p,
                          double* sums);

struct IsaLoops {
  const char* name;
  // The whole pass in one loop, nothing stored between evaluation and sums. f32 sums in f32, 1024 rows
  // at a time.
  FusedF64 fused_f64;
  FusedF32 fused_f32;
  // The same with exp inlined, where this instruction set has such an exp; else null.
  FusedF64 fused_f64_inline;
  FusedF32 fused_f32_inline;
  // `rounds` rounds of independent multiply-adds; returns their number, lanes counted singly.
  double (*fmas_f64)(std::size_t rounds, double seed);
  double (*fmas_f32)(std::size_t rounds, float seed);
  double (*sum)(const double* values, std::size_t count);
};

// The best this CPU runs.
const IsaLoops& isa_loops();

}  // namespace bench
