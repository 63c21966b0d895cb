// Loops of first guesses, compiled for vectors of four numbers where the CPU has them. A multiplication and
// an addition are never fused, so the results have the same bits as those of two numbers at a time.
#pragma once

#include "kernels/cpu.hpp"

#if defined(__x86_64__)
#define NLSQ_WIDE_VECTORS __attribute__((target("avx2")))
#else
#define NLSQ_WIDE_VECTORS
#endif

namespace nlsq::inline v0::guessing {

inline bool has_wide_vectors() {
#if defined(__x86_64__)
  static const bool has = cpu_runs_avx2();
  return has;
#else
  return false;
#endif
}

}  // namespace nlsq::inline v0::guessing
