// Defines Simd<T>, the vectors of the instruction set for which this object is compiled.
//
//  Only kernel.cpp and block_kernel.cpp include it. Everything is in an anonymous namespace: the same names
//  are different code in the other objects, and the linker must not see them.
#pragma once

#include "kernels/inline.hpp"

#if defined(NLSQ_KERNEL_SET_baseline)
#include "kernels/simd_baseline.hpp"
#else
#include "kernels/simd_highway.hpp"
#endif
