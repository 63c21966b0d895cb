// Defines kernels that differ from the real ones in format or in what they count, and a way to use them.
#pragma once

#include "dense/dense_evaluator.hpp"
#include "kernels/kernel_sets.hpp"

#include <nlsq/nlsq.hpp>
#include "rows/residual_sources.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace mutants {

using namespace nlsq;

// Uses a set of kernels as long as this object lives.
class InUse {
 public:
  explicit InUse(const KernelTable& table) { substitute_kernels(&table); }
  ~InUse() { substitute_kernels(nullptr); }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;
};

// Return the best set of this machine, and a copy of it that may be changed.
inline const KernelTable& real() { return *available_kernels().back(); }

struct Mutant {
  const char* name;
  std::function<void(KernelTable&)> spoil;
};

// Converts columns to another type, padded as kernels demand.
template <class To, class From>
struct Converted {
  std::vector<std::vector<To>> memory;
  std::vector<const To*> columns;
  Converted(const From* const* from, int count, std::size_t rows) {
    for (int j = 0; j < count; ++j) {
      if (from[j] == nullptr) {
        columns.push_back(nullptr);
        continue;
      }
      auto& column = memory.emplace_back((rows + 63) / 64 * 64);
      std::transform(from[j], from[j] + rows, column.begin(), [](From v) { return static_cast<To>(v); });
      columns.push_back(column.data());
    }
  }
};

// Evaluates rows of type T by the kernel of type Other, and counts them as T.
template <class T, class Other, class Run>
void rows_by(Run run, const KernelStep* steps, std::size_t count, T* const* vectors, const T* uniforms,
             std::size_t rows, KernelCounters& counters) {
  std::set<std::size_t> used, written;
  std::int32_t most_uniforms = 0;
  for (std::size_t s = 0; s < count; ++s) {
    written.insert(static_cast<std::size_t>(steps[s].dst));
    for (const std::int32_t o : steps[s].operands) {
      if (o >= 0) used.insert(static_cast<std::size_t>(o));
      else most_uniforms = std::max(most_uniforms, ~o + 1);
    }
  }
  used.insert(written.begin(), written.end());
  const std::size_t padded = (rows + 63) / 64 * 64;
  std::vector<std::vector<Other>> memory;
  std::vector<Other*> other(*used.rbegin() + 1, nullptr);
  memory.reserve(used.size());
  for (const std::size_t v : used) {
    auto& column = memory.emplace_back(padded);
    std::transform(vectors[v], vectors[v] + rows, column.begin(),
                   [](T value) { return static_cast<Other>(value); });
    other[v] = column.data();
  }
  std::vector<Other> constants(static_cast<std::size_t>(most_uniforms) + 1);
  for (std::size_t k = 0; k + 1 < constants.size(); ++k) constants[k] = static_cast<Other>(uniforms[k]);
  KernelCounters unused;
  run(steps, count, other.data(), constants.data(), rows, &unused);
  for (const std::size_t v : written)
    std::transform(other[v], other[v] + rows, vectors[v], [](Other value) { return static_cast<T>(value); });
  counters.rows_f32 += std::is_same_v<T, float> ? rows : 0;
  counters.rows_f64 += std::is_same_v<T, float> ? 0 : rows;
}

inline std::uint64_t flops(int n1, std::size_t rows) {
  return static_cast<std::uint64_t>(n1) * static_cast<std::uint64_t>(n1 + 1) * rows;
}

inline const Mutant kMutants[] = {
    {"f32 rows by the f64 kernel, counted as f32",
     [](KernelTable& t) {
       t.f32.decode = real().f64.decode;
       t.generated_f32 = nullptr;  // machine code for floats cannot run there
       t.f32.run_steps = [](const KernelStep* steps, std::size_t count, float* const* vectors,
                            const float* uniforms, std::size_t rows, KernelCounters* counters) {
         rows_by<float, double>(real().f64.run_steps, steps, count, vectors, uniforms, rows, *counters);
       };
     }},
    {"f64 rows by the f32 kernel, counted as f64",
     [](KernelTable& t) {
       t.f64.decode = real().f32.decode;
       t.generated_f64 = nullptr;  // machine code for doubles cannot run there
       t.f64.run_steps = [](const KernelStep* steps, std::size_t count, double* const* vectors,
                            const double* uniforms, std::size_t rows, KernelCounters* counters) {
         rows_by<double, float>(real().f32.run_steps, steps, count, vectors, uniforms, rows, *counters);
       };
     }},
    {"f32 rows counted as f64",
     [](KernelTable& t) {
       t.f32.run_steps = [](const KernelStep* steps, std::size_t count, float* const* vectors,
                            const float* uniforms, std::size_t rows, KernelCounters* counters) {
         KernelCounters own;
         real().f32.run_steps(steps, count, vectors, uniforms, rows, &own);
         counters->rows_f64 += own.rows_f32;
       };
     }},
    {"f32 rows not counted",
     [](KernelTable& t) {
       t.f32.run_steps = [](const KernelStep* steps, std::size_t count, float* const* vectors,
                            const float* uniforms, std::size_t rows, KernelCounters*) {
         KernelCounters own;
         real().f32.run_steps(steps, count, vectors, uniforms, rows, &own);
       };
     }},
    {"f32 products by the f64 kernel",
     [](KernelTable& t) {
       t.gram_f32 = [](const float* const* columns, int n1, std::size_t rows, double* sums,
                       KernelCounters* counters) {
         const Converted<double, float> wide(columns, n1, rows);
         real().gram_f64(wide.columns.data(), n1, rows, sums, counters);
       };
     }},
    {"f32 tile sums in f64, counted as f32",
     [](KernelTable& t) {
       t.gram_f32 = [](const float* const* columns, int n1, std::size_t rows, double* sums,
                       KernelCounters* counters) {
         KernelCounters own;
         real().gram_f32_wide(columns, n1, rows, sums, &own);
         counters->gram_flops_f32 += own.gram_flops_f32_wide;
       };
     }},
    {"wide sums in f32, counted as wide",
     [](KernelTable& t) {
       t.gram_f32_wide = [](const float* const* columns, int n1, std::size_t rows, double* sums,
                            KernelCounters* counters) {
         KernelCounters own;
         real().gram_f32(columns, n1, rows, sums, &own);
         counters->gram_flops_f32_wide += own.gram_flops_f32;
       };
     }},
    {"f64 products of numbers rounded to f32, counted as f64",
     [](KernelTable& t) {
       t.gram_f64 = [](const double* const* columns, int n1, std::size_t rows, double* sums,
                       KernelCounters* counters) {
         const Converted<float, double> narrow(columns, n1, rows);
         KernelCounters own;
         real().gram_f32_wide(narrow.columns.data(), n1, rows, sums, &own);
         counters->gram_flops_f64 += own.gram_flops_f32_wide;
       };
     }},
    {"bf16 products of unrounded numbers, counted as bf16",
     [](KernelTable& t) {
       t.gram_bf16 = [](const float* const* columns, int n1, std::size_t rows, double* sums,
                        KernelCounters* counters) {
         KernelCounters own;
         real().gram_f32_wide(columns, n1, rows, sums, &own);
         counters->gram_flops_bf16 += flops(n1 - 1, rows);
         counters->gram_flops_f32_wide += 2 * static_cast<std::uint64_t>(n1) * rows;
       };
     }},
    {"bf16 products by the f32 kernel, counted as f32",
     [](KernelTable& t) { t.gram_bf16 = real().gram_f32; }},
    {"residuals rounded to bf16 beside J",
     [](KernelTable& t) {
       t.gram_bf16 = [](const float* const* columns, int n1, std::size_t rows, double* sums,
                        KernelCounters* counters) {
         const std::vector<float> zero((rows + 63) / 64 * 64);
         std::vector<const float*> more(columns, columns + n1);
         more.push_back(zero.data());  // so that the residuals are not last
         std::vector<double> triangle(static_cast<std::size_t>((n1 + 1) * (n1 + 2) / 2));
         KernelCounters own;
         real().gram_bf16(more.data(), n1 + 1, rows, triangle.data(), &own);
         for (int i = 0, from = 0, to = 0; i < n1; ++i, ++from) {
           for (int j = i; j < n1; ++j) sums[to++] += triangle[static_cast<std::size_t>(from++)];
         }
         counters->gram_flops_bf16 += flops(n1 - 1, rows);
         counters->gram_flops_f32_wide += 2 * static_cast<std::uint64_t>(n1) * rows;
       };
     }},
    {"J'r of f64 rows in f32, counted as f64",
     [](KernelTable& t) {
       t.gradient_f64 = [](const double* const* columns, int n1, std::size_t rows, double* sums,
                           KernelCounters* counters) {
         const Converted<float, double> narrow(columns, n1, rows);
         KernelCounters own;
         real().gradient_f32_wide(narrow.columns.data(), n1, rows, sums, &own);
         counters->gram_flops_f64 += own.gram_flops_f32_wide;
       };
     }},
    {"QR of rows rounded to f32",
     [](KernelTable& t) {
       t.qr_fold = [](double* R, std::size_t stride, int n1, double* const* columns, std::size_t rows,
                      KernelCounters* counters) {
         for (int j = 0; j < n1; ++j) {
           for (std::size_t i = 0; i < rows; ++i)
             columns[j][i] = static_cast<double>(static_cast<float>(columns[j][i]));
         }
         real().qr_fold(R, stride, n1, columns, rows, counters);
       };
     }},
};

inline void spoil(KernelTable& table, const std::string& name) {
  for (const Mutant& mutant : kMutants) {
    if (mutant.name == name) return mutant.spoil(table);
  }
  FAIL("no mutant is called " << name);
}

}  // namespace mutants
