// Defines fused loops for the models of isa_models.hpp. The file is compiled once for each instruction set,
// with its flags, and defines one symbol, isa_loops_<set>. It must not instantiate functions of shared
// headers, because the linker could keep this object's copy for all.
#include "isa/isa_loops.hpp"

#include "isa/isa_models.hpp"

namespace bench {
namespace {

constexpr std::size_t kBlock = 1024;  // rows summed in vectors before the sums are added in double
constexpr std::size_t kGroup =
    4;  // vectors whose functions are called before their sums, because calls clobber every register

template <class M>
constexpr int packed = (M::n + 1) * (M::n + 2) / 2;

template <class M, class T>
[[gnu::always_inline]] inline void add_products(const Vector<T>* columns, Vector<T>* sums) {
  int k = 0;
  for (int i = 0; i <= M::n; ++i) {
    for (int j = i; j <= M::n; ++j) sums[k] += columns[i] * columns[j], ++k;
  }
}

template <class T>
double across(Vector<T> v) {
  double total = 0;
  for (std::size_t l = 0; l < kLanes<T>; ++l) total += static_cast<double>(v[l]);
  return total;
}

// Handles fewer rows than a group. Unused lanes repeat the last row with weight 0.
template <class M, class F, class T, class Stored>
void add_tail(const Stored* x, const Stored* y, std::size_t rows, const T* p, double* sums) {
  Vector<T> part[packed<M>] = {};
  for (std::size_t i = 0; i < rows; i += kLanes<T>) {
    Vector<T> vx, vy, weight;
    for (std::size_t l = 0; l < kLanes<T>; ++l) {
      const std::size_t row = i + l < rows ? i + l : rows - 1;
      vx[l] = static_cast<T>(x[row]), vy[l] = static_cast<T>(y[row]), weight[l] = i + l < rows ? T(1) : T(0);
    }
    Vector<T> columns[M::n + 1];
    columns[M::n] = M::template row<T>(vx, M::template functions<F, T>(vx, p), p, columns) - vy;
    for (Vector<T>& column : columns) column *= weight;
    add_products<M, T>(columns, part);
  }
  for (int k = 0; k < packed<M>; ++k) sums[k] += across<T>(part[k]);
}

template <class M, class F, class T, class Stored>
void fused(const Stored* x, const Stored* y, std::size_t rows, const double* parameters, double* sums) {
  constexpr std::size_t step = kGroup * kLanes<T>;
  T p[M::n];
  for (int j = 0; j < M::n; ++j) p[j] = static_cast<T>(parameters[j]);
  for (int k = 0; k < packed<M>; ++k) sums[k] = 0;
  std::size_t i = 0;
  while (i + step <= rows) {
    const std::size_t end = rows - i < kBlock ? i + (rows - i) / step * step : i + kBlock;
    Vector<T> part[packed<M>] = {};
    for (; i < end; i += step) {
      decltype(M::template functions<F, T>(load<T>(x), p)) functions[kGroup];
      for (std::size_t g = 0; g < kGroup; ++g)
        functions[g] = M::template functions<F, T>(load<T>(x + i + g * kLanes<T>), p);
      for (std::size_t g = 0; g < kGroup; ++g) {
        const std::size_t at = i + g * kLanes<T>;
        Vector<T> columns[M::n + 1];
        columns[M::n] = M::template row<T>(load<T>(x + at), functions[g], p, columns) - load<T>(y + at);
        add_products<M, T>(columns, part);
      }
    }
    for (int k = 0; k < packed<M>; ++k) sums[k] += across<T>(part[k]);
  }
  if (i < rows) add_tail<M, F, T>(x + i, y + i, rows - i, p, sums);
}

// Computes in T from columns of Stored.
template <class F, class T, class Stored = T>
void fused_model(FusedModel model, const Stored* x, const Stored* y, std::size_t rows, const double* p,
                 double* sums) {
  switch (model) {
    case FusedModel::exp: return fused<FusedExp, F, T>(x, y, rows, p, sums);
    case FusedModel::gaussian: return fused<FusedGaussian, F, T>(x, y, rows, p, sums);
    case FusedModel::biexp: return fused<FusedBiexp, F, T>(x, y, rows, p, sums);
    case FusedModel::logistic: return fused<FusedLogistic, F, T>(x, y, rows, p, sums);
    case FusedModel::sine: return fused<FusedSine, F, T>(x, y, rows, p, sums);
    case FusedModel::power: return fused<FusedPower, F, T>(x, y, rows, p, sums);
    case FusedModel::rational22: return fused<FusedRational22, F, T>(x, y, rows, p, sums);
  }
}

template <class T>
double multiply_adds(std::size_t rounds, T seed) {
  constexpr int chains = 12;  // more than latency times units
  Vector<T> sums[chains];
  for (int k = 0; k < chains; ++k) sums[k] = Vector<T>{} + seed * static_cast<T>(k + 1);
  const Vector<T> factor = Vector<T>{} + seed;
  for (std::size_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (int k = 0; k < chains; ++k) sums[k] = sums[k] * factor + factor;
  }
  double total = 0;
  for (int k = 0; k < chains; ++k) total += across<T>(sums[k]);
  // Prevents the sums from being optimised away.
  return static_cast<double>(rounds * chains * kLanes<T>) + 0 * total;
}

double sum(const double* values, std::size_t count) {
  constexpr std::size_t chains = 8;
  VectorF64 sums[chains] = {};
  for (std::size_t i = 0; i + chains * kLanes<double> <= count; i += chains * kLanes<double>) {
    for (std::size_t k = 0; k < chains; ++k) sums[k] += load<double>(values + i + k * kLanes<double>);
  }
  double total = 0;
  for (std::size_t k = 0; k < chains; ++k) total += across<double>(sums[k]);
  return total;
}

#define BENCH_TEXT_(x) #x
#define BENCH_TEXT(x) BENCH_TEXT_(x)
#define BENCH_ENTRY_(isa) isa_loops_##isa
#define BENCH_ENTRY(isa) BENCH_ENTRY_(isa)

}  // namespace

extern const IsaLoops BENCH_ENTRY(BENCH_ISA);
const IsaLoops BENCH_ENTRY(BENCH_ISA) = {
    BENCH_TEXT(BENCH_ISA),
    {fused_model<BySleef, double>, fused_model<BySleef, float>, fused_model<BySleef, float, double>},
#if defined(__AVX2__)
    {fused_model<Inlined, double>, fused_model<Inlined, float>, fused_model<Inlined, float, double>},
#else
    {},
#endif
    multiply_adds<double>,
    multiply_adds<float>,
    sum,
};

}  // namespace bench
