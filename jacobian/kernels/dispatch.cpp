// Chooses the kernel set that this process runs. This file is compiled without any instruction set flags.
#include "kernels/cpu.hpp"
#include "kernels/kernel_sets.hpp"

#include <nlsq/error.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace nlsq::inline v0 {
namespace {

// NLSQ_COMPILED_name is defined for each set that was compiled (NLSQ_KERNELS in CMakeLists.txt).
std::vector<const KernelTable*> runnable() {
  std::vector<const KernelTable*> sets;
#if defined(NLSQ_COMPILED_baseline)
  sets.push_back(kernel_table_baseline());
#endif
#if defined(NLSQ_COMPILED_avx2)
  if (cpu_runs_avx2()) sets.push_back(kernel_table_avx2());
#endif
#if defined(NLSQ_COMPILED_avx512)
  if (cpu_runs_avx512()) {
    static KernelTable table = *kernel_table_avx512();
    if (__builtin_cpu_supports("avx512bf16")) {
      table.bf16_instructions = true;
      table.gram_bf16 = gram_bf16_avx512;
    }
    sets.push_back(&table);
  }
#endif
#if defined(NLSQ_COMPILED_neon)
  sets.push_back(kernel_table_neon());
#endif
  return sets;
}

// Returns false if the environment has NLSQ_JIT=off. The interpreter then runs all programs.
bool may_generate() {
  const char* set = std::getenv("NLSQ_JIT");
  if (set == nullptr || *set == '\0' || std::string_view(set) == "on") return true;
  if (std::string_view(set) == "off") return false;
  throw ValidationError("NLSQ_JIT=" + std::string(set) + " is neither on nor off");
}

const KernelTable& choose() {
  const auto sets = available_kernels();
  if (sets.empty())
    throw ValidationError(
        "this build has only kernels for another CPU; run ./dev build, or configure it with "
        "-DNLSQ_KERNELS=all");
  const char* forced = std::getenv("NLSQ_ISA");
  if (forced == nullptr || *forced == '\0') return *sets.back();
  std::string names;
  for (const KernelTable* set : sets) {
    if (std::string_view(set->name) == forced) return *set;
    names += names.empty() ? "" : ", ";
    names += set->name;
  }
  throw ValidationError(
      "NLSQ_ISA=" + std::string(forced) +
      " names no instruction set that this build has and this CPU runs; there are: " + names);
}

const KernelTable& chosen() {
  static const KernelTable table = [] {
    KernelTable chosen = choose();
    if (!may_generate()) chosen.generated_f64 = chosen.generated_f32 = nullptr;
    return chosen;
  }();
  return table;
}

std::atomic<const KernelTable*> substitute{nullptr};

// Returns the block kernels of an instruction set.
const BlockKernels* of_set(std::string_view set) {
#if defined(NLSQ_COMPILED_baseline)
  if (set == "baseline") return block_kernels_baseline();
#endif
#if defined(NLSQ_COMPILED_avx2)
  if (set == "avx2") return block_kernels_avx2();
#endif
#if defined(NLSQ_COMPILED_avx512)
  if (set == "avx512") return block_kernels_avx512();
#endif
#if defined(NLSQ_COMPILED_neon)
  if (set == "neon") return block_kernels_neon();
#endif
  return nullptr;
}

std::vector<const BlockKernels*> runnable_for_blocks() {
  std::vector<const BlockKernels*> sets;
  for (const KernelTable* table : available_kernels()) sets.push_back(of_set(table->name));
  return sets;
}

using CounterWords = std::array<std::uint64_t, sizeof(KernelCounters) / sizeof(std::uint64_t)>;

template <class Operation>
KernelCounters each_counter(const KernelCounters& a, const KernelCounters& b, Operation operation) {
  auto words = std::bit_cast<CounterWords>(a);
  std::ranges::transform(words, std::bit_cast<CounterWords>(b), words.begin(), operation);
  return std::bit_cast<KernelCounters>(words);
}

}  // namespace

void substitute_kernels(const KernelTable* table) noexcept { substitute.store(table); }

void KernelCounters::add(const KernelCounters& other) { *this = each_counter(*this, other, std::plus<>()); }

KernelCounters KernelCounters::since(const KernelCounters& before) const {
  return each_counter(*this, before, std::minus<>());
}

const KernelTable& kernels() {
  const KernelTable* table = substitute.load(std::memory_order_relaxed);
  return table != nullptr ? *table : chosen();
}

const BlockKernels& block_kernels() {
  static const BlockKernels& table = *of_set(chosen().name);
  return table;
}

std::span<const BlockKernels* const> available_block_kernels() {
  static const std::vector<const BlockKernels*> sets = runnable_for_blocks();
  return sets;
}

std::span<const KernelTable* const> available_kernels() {
  static const std::vector<const KernelTable*> sets = runnable();
  return sets;
}

}  // namespace nlsq::inline v0
