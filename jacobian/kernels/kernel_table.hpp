// Declares the table of kernels. It is compiled once per instruction set and chosen once per process.
//
//  The best set that the CPU supports is used. The environment variable NLSQ_ISA (baseline, avx2, avx512,
//  neon) selects one; an unknown or unsupported name is an error that lists the available sets.
//
//  `rows` is the true number of rows. Buffers must be readable, and registers writable, up to the next
//  multiple of 64 rows. Results in lanes beyond the true number are computed and ignored.
#pragma once

#include <nlsq/export.hpp>
#include <nlsq/kernel_counters.hpp>
#include "program/tile_program.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace nlsq::inline v0 {

struct GeneratedCode;
struct LaneState;  // lane_state.hpp

// One or two instructions, decoded for a kernel set, or a run of instructions as machine code.
struct KernelStep {
  void (*function)() = nullptr;
  std::int32_t dst = 0;
  std::int32_t operands[4] = {0, 0, 0, 0};
  Op op = Op::copy;
  const GeneratedCode* generated = nullptr;
};

// A run of instructions as machine code (machine_code/program_steps.hpp), and as steps of the interpreter,
// for rows that need functions of other ranges.
struct GeneratedCode {
  std::size_t (*function)(const void* const* vectors, const void* uniforms, std::size_t begin,
                          std::size_t end) = nullptr;
  const KernelStep* steps = nullptr;
  std::size_t count = 0;  // number of the steps
  // These are the numbers of the columns that f32 code reads as doubles. The interpreter needs them as
  // floats.
  const std::int32_t* f64_columns = nullptr;
  std::size_t f64_count = 0;
  std::size_t vectors = 0;  // number of vectors of the tile
};
// f32 code reads at most so many columns of doubles, and then its tile has at most so many vectors.
inline constexpr std::size_t most_f64_columns = 8, most_vectors_with_f64 = 64;

inline constexpr int most_columns_with_ones = 6;
inline constexpr int most_lane_parameters = 16;

// Holds the kernels that run programs on numbers of one format: double or float.
template <class T>
struct ProgramKernels {
  // Runs a program on `rows` rows. vectors[v] points to column or register v.
  void (*run)(const Instruction* code, std::size_t instructions, T* const* vectors, const T* uniforms,
              std::size_t rows, KernelCounters* counters);

  // Run a program in two parts. decode() translates the code once, into at most as many steps as
  // instructions, and returns the number of steps. The steps are then run for every tile.
  std::size_t (*decode)(const Instruction* code, std::size_t instructions, KernelStep* steps);
  void (*run_steps)(const KernelStep* steps, std::size_t count, T* const* vectors, const T* uniforms,
                    std::size_t rows, KernelCounters* counters);

  // Runs many problems at once, one per lane (lanes_f64 or lanes_f32 of them). Row r of problem l is at r *
  // lanes + l of a vector, and its uniform u at u * lanes + l. The bits of a problem do not depend on the
  // other problems or on its lane.
  void (*run_lanes)(const KernelStep* steps, std::size_t count, T* const* vectors, const T* uniforms,
                    std::size_t rows, KernelCounters* counters);
  // Adds the Gram matrices of these problems to `sums`. For problem l, entry k of the triangle that
  // KernelTable::gram_f64 describes is at k * lanes + l. Column `ones` contains only ones; -1 means that
  // there is none.
  void (*lane_gram)(const T* const* columns, int n1, int ones, std::size_t rows, T* sums,
                    KernelCounters* counters);
};

// How gram_bf16 multiplies. With `none` it takes a little longer than gram_f32; with the others it pays for
// many columns.
enum class Bf16Unit : std::uint8_t {
  none,   // as gram_f32 does
  pairs,  // by VDPBF16PS of AVX512_BF16
  tiles,  // by TDPBF16PS of AMX_BF16
};

struct KernelTable {
  const char* name;  // "baseline", "avx2", "avx512", "amx", "neon"
  int lanes_f64, lanes_f32;
  Bf16Unit bf16_unit;
  int qr_block_columns;  // from this number of columns on qr_fold works in blocks; 0: never
  bool multiplies_bf16() const { return bf16_unit != Bf16Unit::none; }

  ProgramKernels<double> f64;
  ProgramKernels<float> f32;
  template <class T>
  const ProgramKernels<T>& of() const {
    if constexpr (sizeof(T) == sizeof(double)) return f64;
    else return f32;
  }

  // These are the functions of steps whose instructions are machine code. They are null where this set has no
  // generator.
  void (*generated_f64)();
  void (*generated_f32)();

  // Computes steps s = -(JᵀJ + λD²)⁻¹ Jᵀr and ν² = Jᵀrᵀ (JᵀJ + λD²)⁻¹ Jᵀr from sums of lane_gram of n + 1
  // columns, n <= most_lane_parameters, for `lanes` problems, a multiple of lanes_f64. D and s are n by
  // lanes. ν² is NaN if a pivot is not above `least` times its diagonal entry; that step must not be used.
  void (*lane_solve)(const double* sums, int n, std::size_t lanes, const double* scale, const double* lambda,
                     double least, double* step, double* nu_squared);
  // These advance the fits in lanes (lane_state.hpp). lane_take judges the trial points, makes those that are
  // good enough the new x, and computes all numbers at x. lane_propose computes the next trial points.
  void (*lane_take)(const LaneState& state);
  void (*lane_propose)(const LaneState& state);

  // Adds the Gram matrix of `n1` columns over `rows` rows to `sums`: the upper triangle by rows, packed,
  // n1*(n1+1)/2 doubles. gram_f32 sums some hundred rows in f32 and then adds them to `sums`; gram_f32_wide
  // widens first. Many columns are copied to memory of the thread, at most 2 KB per column; throws
  // std::bad_alloc if that fails. If n1 <= most_columns_with_ones, one column may be null: it stands for a
  // column of ones, whose products are sums.
  void (*gram_f64)(const double* const* columns, int n1, std::size_t rows, double* sums,
                   KernelCounters* counters);
  void (*gram_f32)(const float* const* columns, int n1, std::size_t rows, double* sums,
                   KernelCounters* counters);
  void (*gram_f32_wide)(const float* const* columns, int n1, std::size_t rows, double* sums,
                        KernelCounters* counters);
  // Adds the same matrix, but the columns before the last are rounded to bf16, with subnormal numbers rounded
  // to zero. They are multiplied as bf16_unit says, and added to `sums` every 512 rows. Products with the
  // last column (the residuals) are not rounded; they are those of gram_f32_wide. Uses at most 2.1 KB of the
  // thread's memory for each column, counted in sixteens, besides that of gram_f32; throws std::bad_alloc if
  // that fails.
  void (*gram_bf16)(const float* const* columns, int n1, std::size_t rows, double* sums,
                    KernelCounters* counters);
  // Computes only the products with the last column, which are the n1 sums Jᵀr and rᵀr.
  void (*gradient_f64)(const double* const* columns, int n1, std::size_t rows, double* sums,
                       KernelCounters* counters);
  void (*gradient_f32_wide)(const float* const* columns, int n1, std::size_t rows, double* sums,
                            KernelCounters* counters);

  // Computes C -= AᵀB, with na and nb columns over `rows` rows; C is stored by rows, `stride` apart. It
  // serves matrices that are computed after the rows, so it counts no flops. Uses memory of the thread;
  // throws std::bad_alloc if that fails.
  void (*subtract_products_f64)(const double* const* a, std::size_t na, const double* const* b,
                                std::size_t nb, std::size_t rows, double* C, std::size_t stride);

  // Folds `rows` rows of n1 columns into the upper triangular R by Householder reflections of [R; tile], so
  // that R'R grows by the columns' Gram matrix. R is n1 x n1, row-major, full square storage with rows
  // `stride` apart, zero below the diagonal. The columns are destroyed. Demmel, Grigori, Hoemmen, Langou:
  // TSQR (SIAM J. Sci. Comput. 34, 2012). Many columns are copied to memory of the thread, at most 3 KB per
  // column; throws std::bad_alloc if that fails.
  void (*qr_fold)(double* R, std::size_t stride, int n1, double* const* columns, std::size_t rows,
                  KernelCounters* counters);

  // Adds Σ_j |J_ij| coefficients_j over n columns to sizes_i. Terms that are not finite are left out.
  void (*add_first_order_terms)(const double* const* J, const double* coefficients, int n, std::size_t rows,
                                double* sizes);
  // Adds Σ column_i² to *squares and Σ |column_i| sizes_i to *terms.
  void (*term_sums)(const double* column, const double* sizes, std::size_t rows, double* squares,
                    double* terms);

  void (*narrow)(const double* from, float* to, std::size_t count);
  void (*widen)(const float* from, double* to, std::size_t count);
};

// Returns the set in use.
NLSQ_API const KernelTable& kernels();
// Returns every set that this build has and this CPU can run. The best is last.
NLSQ_API std::span<const KernelTable* const> available_kernels();

}  // namespace nlsq::inline v0
