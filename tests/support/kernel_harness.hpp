// Runs single operations through a kernel set, with buffers padded as the kernels require.
#pragma once

#include "kernels/kernel_table.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <vector>

namespace harness {

// Returns true if both have the same bits, or both are NaN.
template <class T>
bool same(T a, T b) {
  return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof a) == 0;
}

inline std::size_t padded(std::size_t rows) { return (rows + 63) / 64 * 64; }

inline void run(const nlsq::KernelTable& set, const nlsq::Instruction* code, std::size_t count,
                double* const* vectors, const double* uniforms, std::size_t rows,
                nlsq::KernelCounters* counters) {
  set.f64.run(code, count, vectors, uniforms, rows, counters);
}
inline void run(const nlsq::KernelTable& set, const nlsq::Instruction* code, std::size_t count,
                float* const* vectors, const float* uniforms, std::size_t rows,
                nlsq::KernelCounters* counters) {
  set.f32.run(code, count, vectors, uniforms, rows, counters);
}

// Computes op(a, b, c) for every row, in tiles of 512 rows. An argument with one element is passed as a
// uniform.
template <class T>
std::vector<T> apply(const nlsq::KernelTable& set, nlsq::Op op, std::vector<T> a, std::vector<T> b = {T(0)},
                     std::vector<T> c = {T(0)}) {
  constexpr std::size_t tile = 512;
  const std::size_t rows = std::max({a.size(), b.size(), c.size()});
  const T uniforms[3] = {a[0], b[0], c[0]};
  const bool uniform[3] = {a.size() == 1, b.size() == 1, c.size() == 1};
  a.resize(padded(rows), T(1));
  b.resize(padded(rows), T(1));
  c.resize(padded(rows), T(1));
  std::vector<T> result(padded(rows));
  nlsq::Instruction in{op, 3, uniform[0] ? ~0 : 0, uniform[1] ? ~1 : 1, uniform[2] ? ~2 : 2};
  nlsq::KernelCounters counters;
  for (std::size_t first = 0; first < rows; first += tile) {
    T* vectors[4] = {a.data() + first, b.data() + first, c.data() + first, result.data() + first};
    run(set, &in, 1, vectors, uniforms, std::min(tile, rows - first), &counters);
  }
  result.resize(rows);
  return result;
}

// Returns the distance in units of the last place of `want` in format T, for exponents down to the smallest
// normal one. The distance between infinity and the largest finite numbers is counted too; two NaN have
// distance 0.
template <class T>
double ulps(T got, long double want) {
  using Limits = std::numeric_limits<T>;
  constexpr double far = std::numeric_limits<double>::infinity();
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : far;
  const T rounded = static_cast<T>(want);
  if (got == rounded) {
    if (std::isinf(got)) return 0;
  } else if (std::isinf(got) || std::isinf(rounded)) {
    const bool both_large = std::fabs(static_cast<long double>(got)) > 0.999999L * Limits::max() &&
                            std::fabs(want) > 0.999999L * Limits::max() && (got > 0) == (want > 0);
    return both_large ? 1 : far;
  }
  int exponent = 0;
  std::frexp(rounded, &exponent);
  const long double unit = std::ldexp(1.0L, std::max(exponent, Limits::min_exponent) - Limits::digits);
  return static_cast<double>(std::fabs(static_cast<long double>(got) - want) / unit);
}

}  // namespace harness
