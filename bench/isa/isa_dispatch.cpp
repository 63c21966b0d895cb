// Selects the loops that this CPU can run. It is compiled without instruction set flags.
#include "isa/isa_loops.hpp"

namespace bench {

extern const IsaLoops isa_loops_baseline;
#if defined(__x86_64__)
extern const IsaLoops isa_loops_avx2, isa_loops_avx512;
#endif

const IsaLoops& isa_loops() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v4")) return isa_loops_avx512;
  if (__builtin_cpu_supports("x86-64-v3")) return isa_loops_avx2;
#endif
  return isa_loops_baseline;
}

}  // namespace bench
