// Loops of first guesses, compiled for vectors of four numbers where the CPU has them. A multiplication and
// an addition are never fused, so the results have the same bits as those of two numbers at a time.
#pragma once

#include "kernels/cpu.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

#if defined(__x86_64__)
#define NLSQ_WIDE_VECTORS __attribute__((target("avx2")))
#else
#define NLSQ_WIDE_VECTORS
#endif

namespace nlsq::inline v0::guessing {

// Four numbers of a loop that is compiled for wide vectors. They are passed by reference, because the
// registers for such values differ between CPUs.
typedef double Four __attribute__((vector_size(32)));
inline constexpr std::size_t kFour = 4;

[[gnu::always_inline]] inline void load(const double* from, Four& to) { std::memcpy(&to, from, sizeof to); }

[[gnu::always_inline]] inline double total(const Four& four) {
  return (four[0] + four[1]) + (four[2] + four[3]);
}

// Joins term(0) to term(n - 1) with `start` in four chains, which run independently. `start` is used in each
// of them, so it must be neutral: 0 for a sum.
template <class Term, class Join>
double fold(std::size_t n, double start, Term term, Join join) {
  double part[4] = {start, start, start, start};
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (std::size_t k = 0; k < 4; ++k) part[k] = join(part[k], term(i + k));
  for (; i < n; ++i) part[0] = join(part[0], term(i));
  return join(join(part[0], part[1]), join(part[2], part[3]));
}

template <class Term>
double sum_of(std::size_t n, Term term) {
  return fold(n, 0.0, term, [](double a, double b) { return a + b; });
}

inline double least_of(std::span<const double> values) {
  return fold(
      values.size(), values[0], [&](std::size_t i) { return values[i]; },
      [](double a, double b) { return std::min(a, b); });
}

inline double most_of(std::span<const double> values) {
  return fold(
      values.size(), values[0], [&](std::size_t i) { return values[i]; },
      [](double a, double b) { return std::max(a, b); });
}

// Returns the value of which `rank` others are smaller. Reorders the values.
inline double ranked(std::span<double> values, std::size_t rank) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(rank));
  return values[rank];
}

inline bool has_wide_vectors() {
#if defined(__x86_64__)
  static const bool has = cpu_runs_avx2();
  return has;
#else
  return false;
#endif
}

}  // namespace nlsq::inline v0::guessing
