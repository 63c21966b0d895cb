// Loops written by hand and compiled once for each instruction set (isa_loops.cpp). The bench compares tile
// programs with them and measures the machine with them.
#pragma once

#include <cstddef>

namespace bench {

enum class FusedModel { exp, gaussian, biexp, logistic, sine, power, rational22 };

// Computes the sums of one pass: the upper triangle by rows of [J | r]ᵀ[J | r], in double.
template <class Stored>
using FusedLoop = void (*)(FusedModel model, const Stored* x, const Stored* y, std::size_t rows,
                           const double* p, double* sums);

// Each function makes the whole pass in one loop and stores no intermediate rows. In f32 it sums 1024 rows
// before it adds the sum to those in double.
struct FusedLoops {
  FusedLoop<double> f64 = nullptr;
  FusedLoop<float> f32 = nullptr;
  FusedLoop<double> f32_of_f64 = nullptr;  // rounds each number that it reads
};

struct IsaLoops {
  const char* name;
  FusedLoops by_sleef;
  FusedLoops inlined;  // with nlsq's own functions inlined; null where this instruction set has none
  // Executes `rounds` rounds of independent multiply-adds and returns their number, counting each lane.
  double (*fmas_f64)(std::size_t rounds, double seed);
  double (*fmas_f32)(std::size_t rounds, float seed);
  double (*sum)(const double* values, std::size_t count);
};

// Returns the loops of the instruction set that nlsq's kernels use, which NLSQ_ISA selects.
const IsaLoops& isa_loops();

}  // namespace bench
