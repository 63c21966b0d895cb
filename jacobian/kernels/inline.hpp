// Defines macros that state how functions of kernels are inlined. The sources of a set and of the code
// generator use them.
#pragma once

#define NLSQ_INLINE [[gnu::always_inline]] inline
#define NLSQ_NOINLINE [[gnu::noinline]]
#define NLSQ_INLINE_LAMBDA __attribute__((always_inline))
