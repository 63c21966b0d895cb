// The entry point of each kernel set: the one symbol its object file defines.
#pragma once

#include <nlsq/kernel_table.hpp>

namespace nlsq::inline v0 {

const KernelTable* kernel_table_baseline() noexcept;
const KernelTable* kernel_table_avx2() noexcept;
const KernelTable* kernel_table_avx512() noexcept;
const KernelTable* kernel_table_neon() noexcept;

}  // namespace nlsq::inline v0
