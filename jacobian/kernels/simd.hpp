// Simd<T>: the vectors of the instruction set this object is compiled for.
//
// Included by kernel.cpp only. Everything is in an anonymous namespace: the same names mean other
// code in the other objects, and the linker must not see them.
#pragma once

#if defined(NLSQ_KERNEL_SET_baseline)
#include "kernels/simd_baseline.hpp"
#else
#include "kernels/simd_highway.hpp"
#endif

#define NLSQ_NOINLINE [[gnu::noinline]]
#define NLSQ_INLINE_LAMBDA __attribute__((always_inline))
