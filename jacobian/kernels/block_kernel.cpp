// The kernels for block structure of one instruction set. Compiled once per set, under the same rule as
// kernel.cpp: the linker sees only the entry point.
#include "kernels/factor/cholesky.hpp"
#include "kernels/factor/elimination.hpp"
#include "kernels/factor/implicit.hpp"
#include "kernels/kernel_sets.hpp"

namespace nlsq::inline v0 {
namespace {

#define NLSQ_TEXT_OF(x) #x
#define NLSQ_TEXT(x) NLSQ_TEXT_OF(x)
#define NLSQ_JOIN_OF(a, b) a##b
#define NLSQ_JOIN(a, b) NLSQ_JOIN_OF(a, b)

constexpr BlockKernels table{
    .name = NLSQ_TEXT(NLSQ_KERNEL_SET),
    .lanes_f64 = Simd<double>::lanes,
    .lanes_f32 = Simd<float>::lanes,
    .gather_f64 = gather<double, double>,
    .gather_f32 = gather<float, float>,
    .gather_f32_wide = gather<float, double>,
    .eliminate_f64 = eliminate<double, double>,
    .eliminate_f32 = eliminate<float, float>,
    .eliminate_f32_wide = eliminate<float, double>,
    .substitute_f64 = substitute<double, double>,
    .substitute_f32 = substitute<float, float>,
    .substitute_f32_wide = substitute<float, double>,
    .bend_f64 = bend<double, double>,
    .bend_f32 = bend<float, float>,
    .bend_f32_wide = bend<float, double>,
    .prepare_f64 = prepare<double, double>,
    .prepare_f32_wide = prepare<float, double>,
    .multiply_f64 = multiply<double, double>,
    .multiply_f32_wide = multiply<float, double>,
    .cholesky_f64 = cholesky_f64,
    .cholesky_part_f64 = cholesky_part_f64,
    .cholesky_solve_f64 = cholesky_solve_f64,
};

}  // namespace

const BlockKernels* NLSQ_JOIN(block_kernels_, NLSQ_KERNEL_SET)() noexcept { return &table; }

}  // namespace nlsq::inline v0
