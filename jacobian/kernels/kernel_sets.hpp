// Declares the entry points of the kernel object files. Each object defines one symbol. Dispatch uses them.
#pragma once

#include "kernels/block_kernels.hpp"
#include "kernels/kernel_table.hpp"

namespace nlsq::inline v0 {

const KernelTable* kernel_table_baseline() noexcept;
const KernelTable* kernel_table_avx2() noexcept;
const KernelTable* kernel_table_avx512() noexcept;
const KernelTable* kernel_table_neon() noexcept;

const BlockKernels* block_kernels_baseline() noexcept;
const BlockKernels* block_kernels_avx2() noexcept;
const BlockKernels* block_kernels_avx512() noexcept;
const BlockKernels* block_kernels_neon() noexcept;

// This replaces gram_bf16 of the avx512 table if the CPU has AVX512_BF16.
void gram_bf16_avx512(const float* const* columns, int n1, std::size_t rows, double* sums,
                      KernelCounters* counters);
// This replaces it in turn if the CPU has AMX_BF16 and the operating system permits its use.
void gram_bf16_amx(const float* const* columns, int n1, std::size_t rows, double* sums,
                   KernelCounters* counters);

// Uses `table` in place of the chosen set until null is given. Tests use it to check that a wrong kernel is
// detected. Running passes keep the set that they began with.
void substitute_kernels(const KernelTable* table) noexcept;

}  // namespace nlsq::inline v0
