// Selects the loops of the instruction set that nlsq's kernels use. It is compiled without instruction set
// flags.
#include "isa/isa_loops.hpp"

#include "kernels/kernel_table.hpp"

#include <string_view>

namespace bench {

extern const IsaLoops isa_loops_baseline;
#if defined(__x86_64__)
extern const IsaLoops isa_loops_avx2, isa_loops_avx512;
#endif

const IsaLoops& isa_loops() {
#if defined(__x86_64__)
  const std::string_view set = nlsq::kernels().name;  // NLSQ_ISA may choose a smaller set than the CPU has
  if (set == "avx512" || set == "amx") return isa_loops_avx512;
  if (set == "avx2") return isa_loops_avx2;
#endif
  return isa_loops_baseline;
}

}  // namespace bench
