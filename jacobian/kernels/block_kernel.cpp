// Compiles the kernels for block structure of one instruction set. This file is compiled once per set, under
// the same rule as kernel.cpp: the linker sees only the entry point.
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

template <class R, class T>
constexpr EliminationKernels<R, T> eliminations{
    .gather = gather<R, T>, .eliminate = eliminate<R, T>, .substitute = substitute<R, T>, .bend = bend<R, T>};
template <class R>
constexpr OperatorKernels<R> operators{.prepare = prepare<R, double>, .multiply = multiply<R, double>};

constexpr BlockKernels table{
    .name = NLSQ_TEXT(NLSQ_KERNEL_SET),
    .lanes_f64 = Simd<double>::lanes,
    .lanes_f32 = Simd<float>::lanes,
    .eliminate_f64 = eliminations<double, double>,
    .eliminate_f32 = eliminations<float, float>,
    .eliminate_f32_wide = eliminations<float, double>,
    .operate_f64 = operators<double>,
    .operate_f32 = operators<float>,
    .cholesky_f64 = cholesky_f64,
    .cholesky_part_f64 = cholesky_part_f64,
    .cholesky_solve_f64 = cholesky_solve_f64,
};

}  // namespace

const BlockKernels* NLSQ_JOIN(block_kernels_, NLSQ_KERNEL_SET)() noexcept { return &table; }

}  // namespace nlsq::inline v0
