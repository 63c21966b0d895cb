// Measures the limits of one core of this machine. The harness derives a lower bound for every time from
// them.
#pragma once

#include <cstddef>
#include <string>

namespace bench {

struct Machine {
  std::string isa;                  // instruction set of the measuring loops: "avx512", "avx2", "baseline"
  double fma_f64 = 0, fma_f32 = 0;  // multiply-adds per second, counting each lane
  double bandwidth = 0;             // bytes per second that one core reads from memory
  double bandwidth_all = 0;         // the same for all cores together

  // Returns the minimum seconds for `rows` rows with the given operations (a multiply-add is one) and bytes
  // each.
  double floor(std::size_t rows, double operations, double bytes, bool single, int threads = 1) const;
};

// Measures this machine. It takes about 0.2 s.
Machine measure_machine();

}  // namespace bench
