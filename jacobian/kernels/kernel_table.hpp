// Kernels, compiled once per instruction set and chosen once per process.
//
// The best set the CPU supports is used; the environment variable NLSQ_ISA (baseline, avx2, avx512,
// neon) forces one, and an unknown or unsupported name is an error that lists what there is.
//
// Rows given to a kernel are the true count; buffers must be readable (and registers writable) up to
// the next multiple of 64 rows. Lanes beyond the true count are computed and ignored.
#pragma once

#include <nlsq/export.hpp>
#include <nlsq/kernel_counters.hpp>
#include "program/tile_program.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace nlsq::inline v0 {

// One or two instructions as a kernel set runs them.
struct KernelStep {
  void (*function)() = nullptr;
  std::int32_t dst = 0;
  std::int32_t operands[4] = {0, 0, 0, 0};
  Op op = Op::copy;
};

inline constexpr int most_columns_with_ones = 6;
inline constexpr int most_lane_parameters = 16;

struct KernelTable {
  const char* name;  // "baseline", "avx2", "avx512", "neon"
  int lanes_f64, lanes_f32;
  bool bf16_instructions;  // gram_bf16 by the CPU's own: pays for many columns; else it is slower than f64
  int qr_block_columns;    // from so many on qr_fold works in blocks; 0: never

  // Runs a program on `rows` rows. vectors[v] is the base of column or register v.
  void (*run_f64)(const Instruction* code, std::size_t instructions, double* const* vectors,
                  const double* uniforms, std::size_t rows, KernelCounters* counters);
  void (*run_f32)(const Instruction* code, std::size_t instructions, float* const* vectors,
                  const float* uniforms, std::size_t rows, KernelCounters* counters);

  // The same in two parts: code is decoded once, into at most as many steps as there are instructions
  // (returns their number), and run for every tile.
  std::size_t (*decode_f64)(const Instruction* code, std::size_t instructions, KernelStep* steps);
  std::size_t (*decode_f32)(const Instruction* code, std::size_t instructions, KernelStep* steps);
  void (*run_steps_f64)(const KernelStep* steps, std::size_t count, double* const* vectors,
                        const double* uniforms, std::size_t rows, KernelCounters* counters);
  void (*run_steps_f32)(const KernelStep* steps, std::size_t count, float* const* vectors,
                        const float* uniforms, std::size_t rows, KernelCounters* counters);

  // Many problems at once, one in each lane (lanes_f64, lanes_f32 of them): row r of problem l lies at r *
  // lanes + l of a vector, its uniform u at u * lanes + l. No problem's bits depend on which others there
  // are, or on its lane.
  void (*run_lanes_f64)(const KernelStep* steps, std::size_t count, double* const* vectors,
                        const double* uniforms, std::size_t rows, KernelCounters* counters);
  void (*run_lanes_f32)(const KernelStep* steps, std::size_t count, float* const* vectors,
                        const float* uniforms, std::size_t rows, KernelCounters* counters);
  // sums += their Gram matrices: of the triangle described below, entry k of problem l at k * lanes + l.
  // Column `ones` is known to be 1 throughout; -1: none is.
  void (*lane_gram_f64)(const double* const* columns, int n1, int ones, std::size_t rows, double* sums,
                        KernelCounters* counters);
  void (*lane_gram_f32)(const float* const* columns, int n1, int ones, std::size_t rows, float* sums,
                        KernelCounters* counters);
  // Steps s = -(JᵀJ + λD²)⁻¹ Jᵀr and ν² = Jᵀrᵀ (JᵀJ + λD²)⁻¹ Jᵀr from such sums of n + 1 columns, n <=
  // most_lane_parameters, in `lanes` problems, a multiple of lanes_f64; D and s as n by lanes. ν² is NaN
  // where a pivot is not above `least` times its diagonal entry: no step is to be believed there.
  void (*lane_solve)(const double* sums, int n, std::size_t lanes, const double* scale, const double* lambda,
                     double least, double* step, double* nu_squared);

  // sums += Gram matrix of `n1` columns over `rows` rows: upper triangle by rows, packed,
  // n1*(n1+1)/2 doubles. gram_f32 sums some hundred rows in f32 and flushes them; gram_f32_wide widens
  // first. Many columns are copied to memory of the thread, 2 KB a column at most; std::bad_alloc where there
  // is none. Where n1 <= most_columns_with_ones, one column may be null: a column of ones, whose products are
  // sums.
  void (*gram_f64)(const double* const* columns, int n1, std::size_t rows, double* sums,
                   KernelCounters* counters);
  void (*gram_f32)(const float* const* columns, int n1, std::size_t rows, double* sums,
                   KernelCounters* counters);
  void (*gram_f32_wide)(const float* const* columns, int n1, std::size_t rows, double* sums,
                        KernelCounters* counters);
  // The same, but the columns before the last are rounded to bf16 and multiplied as VDPBF16PS does, in
  // f32, flushed every 512 rows; products with the last column (the residuals) are those of
  // gram_f32_wide. The same bits in every set. Uses memory of the thread, 2 KB a column at most;
  // std::bad_alloc where there is none.
  void (*gram_bf16)(const float* const* columns, int n1, std::size_t rows, double* sums,
                    KernelCounters* counters);
  // The products with the last column alone, n1 sums: Jᵀr and rᵀr.
  void (*gradient_f64)(const double* const* columns, int n1, std::size_t rows, double* sums,
                       KernelCounters* counters);
  void (*gradient_f32_wide)(const float* const* columns, int n1, std::size_t rows, double* sums,
                            KernelCounters* counters);

  // C -= AᵀB, of na and nb columns over `rows` rows, C by rows with `stride` from one to the next; for what
  // is made of matrices after the rows. Counts nothing. Uses memory of the thread; std::bad_alloc where there
  // is none.
  void (*subtract_products_f64)(const double* const* a, std::size_t na, const double* const* b,
                                std::size_t nb, std::size_t rows, double* C, std::size_t stride);

  // Folds `rows` rows of n1 columns into the upper triangular R (n1 x n1, row-major, full square storage with
  // `stride` from one row to the next, strictly lower part zero): R'R += columns' columns, by Householder
  // reflections of [R; tile]. The columns are destroyed. Demmel, Grigori, Hoemmen, Langou: TSQR (SIAM J. Sci.
  // Comput. 34, 2012). Many columns are copied to memory of the thread, 3 KB a column at most; std::bad_alloc
  // where there is none.
  void (*qr_fold)(double* R, std::size_t stride, int n1, double* const* columns, std::size_t rows,
                  KernelCounters* counters);

  // sizes_i += Σ_j |J_ij| coefficients_j over n columns, terms that are not finite left out.
  void (*add_first_order_terms)(const double* const* J, const double* coefficients, int n, std::size_t rows,
                                double* sizes);
  // *squares += Σ column_i², *terms += Σ |column_i| sizes_i.
  void (*term_sums)(const double* column, const double* sizes, std::size_t rows, double* squares,
                    double* terms);

  void (*narrow)(const double* from, float* to, std::size_t count);
  void (*widen)(const float* from, double* to, std::size_t count);
};

// The set in use.
NLSQ_API const KernelTable& kernels();
// Every set this build has and this CPU can run, best last.
NLSQ_API std::span<const KernelTable* const> available_kernels();

}  // namespace nlsq::inline v0
