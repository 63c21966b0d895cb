// Compiles one kernel set. This file is compiled once per instruction set. NLSQ_KERNEL_SET names the set.
//
//  The linker sees only the entry point. An inline function of a header that is compiled here with wide
//  instructions must not replace the copy in an object that has to run on any CPU.
#include "kernels/factor/lane_solve.hpp"
#include "kernels/factor/lane_steps.hpp"
#include "kernels/factor/qr_blocked.hpp"
#include "kernels/gram/gram.hpp"
#include "kernels/gram/gram_bf16_rounded.hpp"
#include "kernels/gram/term_sums.hpp"
#include "kernels/kernel_sets.hpp"
#include "kernels/run.hpp"

namespace nlsq::inline v0 {
namespace {

#if defined(NLSQ_KERNEL_SET_avx512)
static_assert(Simd<double>::lanes == 8, "Highway did not take the flags of AVX-512");
#elif defined(NLSQ_KERNEL_SET_avx2)
static_assert(Simd<double>::lanes == 4, "Highway did not take the flags of AVX2");
#else
static_assert(Simd<double>::lanes == 2);
#endif

// Converts doubles to floats. Also prefetches as many rows after these, which the next tile needs, because
// the loop mostly waits for memory. Prefetching addresses beyond the data does no harm.
void narrow(const double* from, float* to, std::size_t count) {
  constexpr std::size_t line = 64 / sizeof(double);
  std::size_t i = 0;
  for (; i + line <= count; i += line) {
    const auto ahead = reinterpret_cast<std::uintptr_t>(from + i) + count * sizeof(double);
    __builtin_prefetch(reinterpret_cast<const void*>(ahead));
    for (std::size_t k = 0; k < line; ++k) to[i + k] = static_cast<float>(from[i + k]);
  }
  for (; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

template <class T>
constexpr ProgramKernels<T> programs{.run = run<T>,
                                     .decode = decode<T>,
                                     .run_steps = run_counted<T>,
                                     .run_lanes = run_lanes<T>,
                                     .lane_gram = lane_gram<T>};

#define NLSQ_TEXT_OF(x) #x
#define NLSQ_TEXT(x) NLSQ_TEXT_OF(x)
#define NLSQ_JOIN_OF(a, b) a##b
#define NLSQ_JOIN(a, b) NLSQ_JOIN_OF(a, b)

const KernelTable table{
    .name = NLSQ_TEXT(NLSQ_KERNEL_SET),
    .lanes_f64 = static_cast<int>(Simd<double>::lanes),
    .lanes_f32 = static_cast<int>(Simd<float>::lanes),
    .bf16_unit = Bf16Unit::none,
    .qr_block_columns = BlockedQr::possible ? qr_block_columns : 0,
    .f64 = programs<double>,
    .f32 = programs<float>,
    .generated_f64 = generated_step<double>(),
    .generated_f32 = generated_step<float>(),
    .lane_solve = lane_solve,
    .lane_take = lane_take,
    .lane_propose = lane_propose,
    .gram_f64 = gram_f64,
    .gram_f32 = gram_f32,
    .gram_f32_wide = gram_f32_wide,
    .gram_bf16 = gram_bf16,
    .gradient_f64 = gradient_f64,
    .gradient_f32_wide = gradient_f32_wide,
    .subtract_products_f64 = subtract_products_f64,
    .qr_fold = qr_fold,
    .add_first_order_terms = add_first_order_terms,
    .term_sums = term_sums,
    .narrow = narrow,
    .widen = widen,
};

}  // namespace

const KernelTable* NLSQ_JOIN(kernel_table_, NLSQ_KERNEL_SET)() noexcept { return &table; }

}  // namespace nlsq::inline v0
