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

// The kernels of one instruction set: those of curves, and those of blocks.
struct KernelSet {
  const KernelTable* table;
  const BlockKernels* of_blocks;
};

#if defined(NLSQ_COMPILED_amx)
// Asks for the permission at the first call, so that only a process that multiplies in bf16 has it. If it is
// refused, all calls use the other instruction.
void gram_bf16_by_tiles(const float* const* columns, int n1, std::size_t rows, double* sums,
                        KernelCounters* counters) {
  static const bool permitted = may_use_tiles();
  (permitted ? gram_bf16_amx : gram_bf16_avx512)(columns, n1, rows, sums, counters);
}
#endif

// Returns the sets that were compiled and that the CPU runs, the best last. NLSQ_COMPILED_name is defined for
// each set that was compiled (NLSQ_KERNELS in CMakeLists.txt).
std::vector<KernelSet> runnable() {
  std::vector<KernelSet> sets;
#if defined(NLSQ_COMPILED_baseline)
  sets.push_back({kernel_table_baseline(), block_kernels_baseline()});
#endif
#if defined(NLSQ_COMPILED_avx2)
  if (cpu_runs_avx2()) sets.push_back({kernel_table_avx2(), block_kernels_avx2()});
#endif
#if defined(NLSQ_COMPILED_avx512)
  if (cpu_runs_avx512()) {
    static KernelTable table = *kernel_table_avx512();
    if (__builtin_cpu_supports("avx512bf16")) {
      table.bf16_unit = Bf16Unit::pairs;
      table.gram_bf16 = gram_bf16_avx512;
    }
    sets.push_back({&table, block_kernels_avx512()});
#if defined(NLSQ_COMPILED_amx)
    if (table.bf16_unit == Bf16Unit::pairs && cpu_has_amx_bf16() && system_has_tiles()) {
      static KernelTable with_tiles = table;
      with_tiles.name = "amx";
      with_tiles.bf16_unit = Bf16Unit::tiles;
      with_tiles.gram_bf16 = gram_bf16_by_tiles;
      sets.push_back({&with_tiles, block_kernels_avx512()});
    }
#endif
  }
#endif
#if defined(NLSQ_COMPILED_neon)
  sets.push_back({kernel_table_neon(), block_kernels_neon()});
#endif
  return sets;
}

const std::vector<KernelSet>& all_sets() {
  static const std::vector<KernelSet> sets = runnable();
  return sets;
}

// Returns one member of each runnable set.
template <class T>
std::vector<T> of_each_set(T KernelSet::*member) {
  std::vector<T> found;
  for (const KernelSet& set : all_sets()) found.push_back(set.*member);
  return found;
}

// Returns false if the environment has NLSQ_JIT=off. The interpreter then runs all programs.
bool may_generate() {
  const char* text = std::getenv("NLSQ_JIT");
  if (text == nullptr || *text == '\0' || std::string_view(text) == "on") return true;
  if (std::string_view(text) == "off") return false;
  throw ValidationError("NLSQ_JIT=" + std::string(text) + " is neither on nor off");
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

const BlockKernels& chosen_for_blocks() {
  const std::string_view name = chosen().name;
  const auto same = [&](const KernelSet& set) { return set.table->name == name; };
  return *std::ranges::find_if(all_sets(), same)->of_blocks;
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
  static const BlockKernels& table = chosen_for_blocks();
  return table;
}

std::span<const BlockKernels* const> available_block_kernels() {
  static const auto sets = of_each_set(&KernelSet::of_blocks);
  return sets;
}

std::span<const KernelTable* const> available_kernels() {
  static const auto sets = of_each_set(&KernelSet::table);
  return sets;
}

}  // namespace nlsq::inline v0
