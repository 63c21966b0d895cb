// The entry points of the object files of kernels: the one symbol each defines.
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

// Of the table avx512, where the CPU has AVX512_BF16 too.
void gram_bf16_avx512(const float* const* columns, int n1, std::size_t rows, double* sums,
                      KernelCounters* counters);

// Instead of the set chosen, until null is given: how tests see that a kernel which does not do what its name
// says is found out. Passes under way keep the set they began with.
void substitute_kernels(const KernelTable* table) noexcept;

}  // namespace nlsq::inline v0
