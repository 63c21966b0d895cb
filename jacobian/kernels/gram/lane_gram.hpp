// Gram matrices of as many problems as a vector has lanes (GramOfLanes).
#pragma once

#include "kernels/gram/gram.hpp"

namespace nlsq::inline v0 {
namespace {

template <class T>
void lane_gram(const T* const* columns, int n1, int ones, std::size_t rows, T* packed) {
  const std::size_t count = rows * Simd<T>::lanes;
  if (ones < 0 || n1 > most_columns_with_ones) return gram<GramOfLanes<T>>(columns, n1, count, packed);
  gram_with_ones<GramOfLanes<T>>(columns, n1, ones, count, packed);
}

void lane_gram_f64(const double* const* columns, int n1, int ones, std::size_t rows, double* sums,
                   KernelCounters* counters) {
  lane_gram<double>(columns, n1, ones, rows, sums);
  counters->gram_flops_f64 += gram_flops(n1, rows * Simd<double>::lanes);
}

void lane_gram_f32(const float* const* columns, int n1, int ones, std::size_t rows, float* sums,
                   KernelCounters* counters) {
  lane_gram<float>(columns, n1, ones, rows, sums);
  counters->gram_flops_f32 += gram_flops(n1, rows * Simd<float>::lanes);
}

}  // namespace
}  // namespace nlsq::inline v0
