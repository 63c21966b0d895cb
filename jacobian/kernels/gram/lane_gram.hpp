// Gram matrices of as many problems as a vector has lanes (GramOfLanes).
#pragma once

#include "kernels/gram/gram.hpp"

namespace nlsq::inline v0 {
namespace {

template <class T>
void lane_gram(const T* const* columns, int n1, int ones, std::size_t rows, T* sums,
               KernelCounters* counters) {
  const std::size_t count = rows * Simd<T>::lanes;
  if (ones < 0 || n1 > most_columns_with_ones) gram<GramOfLanes<T>>(columns, n1, count, sums);
  else gram_with_ones<GramOfLanes<T>>(columns, n1, ones, count, sums);
  (sizeof(T) == sizeof(double) ? counters->gram_flops_f64 : counters->gram_flops_f32) +=
      gram_flops(n1, count);
}

}  // namespace
}  // namespace nlsq::inline v0
