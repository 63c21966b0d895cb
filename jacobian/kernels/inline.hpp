// How the kernels' functions are inlined. The source files of a set, and of the code generator, include it.
#pragma once

#define NLSQ_INLINE [[gnu::always_inline]] inline
#define NLSQ_NOINLINE [[gnu::noinline]]
#define NLSQ_INLINE_LAMBDA __attribute__((always_inline))
