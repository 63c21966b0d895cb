// Loops written by hand and compiled once for each instruction set (isa_loops.cpp). The bench compares tile
// programs with them and measures the machine with them.
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
  // The whole pass in one loop, without storing intermediate rows. The f32 version sums 1024 rows at a time
  // in f32.
  FusedF64 fused_f64;
  FusedF32 fused_f32;
  // The same with inlined exp, where this instruction set has one; otherwise null.
  FusedF64 fused_f64_inline;
  FusedF32 fused_f32_inline;
  // Executes `rounds` rounds of independent multiply-adds and returns their number, counting each lane.
  double (*fmas_f64)(std::size_t rounds, double seed);
  double (*fmas_f32)(std::size_t rounds, float seed);
  double (*sum)(const double* values, std::size_t count);
};

// The loops of the instruction set that nlsq's kernels use, which NLSQ_ISA selects.
const IsaLoops& isa_loops();

}  // namespace bench
