// What one core of this machine can do at most: the floor under every time.
#pragma once

#include <cstddef>
#include <string>

namespace bench {

struct Machine {
  std::string isa;                  // of the loops that measured it: "avx512", "avx2", "baseline"
  double fma_f64 = 0, fma_f32 = 0;  // multiply-adds a second, lanes counted singly
  double bandwidth = 0;             // bytes read a second from memory by one core
  double bandwidth_all = 0;         // by all cores together

  // Least seconds for `rows` rows of so many operations (a multiply-add is one) and bytes each.
  double floor(std::size_t rows, double operations, double bytes, bool single, int threads = 1) const;
};

// Takes about 0.2 s.
Machine measure_machine();

}  // namespace bench
