// What generated code has to know about an instruction set.
#pragma once

#include <cstdint>

namespace nlsq::inline v0 {

struct VectorSet {
  std::int32_t bytes;  // of a vector
  int registers;       // for vectors
  // Instructions have an EVEX prefix. Comparisons then give masks in registers of their own, and an operand
  // in memory may be one number for all lanes. Otherwise masks are vectors.
  bool avx512;
};

inline constexpr VectorSet vectors_avx2{32, 16, false}, vectors_avx512{64, 32, true};

}  // namespace nlsq::inline v0
