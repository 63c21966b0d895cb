// Interprets tile programs. It decodes instructions, or pairs of them, once into steps. It executes a tile
// strip by strip, all steps on one strip. From 8 vectors on, the length of a strip makes no difference. With
// 4, calls cost 8 %.
#pragma once

#include "kernels/functions/elementary.hpp"
#include "kernels/fused_steps.hpp"
#include "kernels/operations.hpp"
#include "kernels/tile.hpp"
#if !defined(NLSQ_KERNEL_SET_baseline)
#include "kernels/functions/special_vector.hpp"
#endif

#include "kernels/kernel_table.hpp"

namespace nlsq::inline v0 {
namespace {

// Computes functions that have no vector form lane by lane in double. (SLEEF's fmod fails at large
// quotients.)
template <class T>
void by_lanes(const Tile<T>& t, const KernelStep& s, std::size_t row, std::size_t count) {
  const auto operand = [&](int k) NLSQ_INLINE_LAMBDA {
    const std::int32_t o = s.operands[k];
    const T* base = o >= 0 ? t.vectors[o] : t.uniforms + static_cast<std::size_t>(~o) * t.per_uniform;
    return [base, moves = o >= 0, per = t.per_uniform](std::size_t i)
               NLSQ_INLINE_LAMBDA { return static_cast<double>(base[moves ? i : i % per]); };
  };
  const bool two = arity(s.op) == 2;
  const auto a = operand(0), b = operand(two ? 1 : 0);
  T* dst = t.vectors[s.dst];
  const std::size_t end = row + count < t.rows ? row + count : t.rows;
  for (std::size_t i = row; i < end; ++i) dst[i] = static_cast<T>(evaluate_op(s.op, a(i), two ? b(i) : 0));
}

#if !defined(NLSQ_KERNEL_SET_baseline)
// Some functions have a vector form in double only. These helpers load and store numbers for them.
NLSQ_INLINE V64 load_double(const double* p) { return Simd<double>::load(p); }
NLSQ_INLINE V64 load_double(const float* p) { return Simd<double>::load_widened(p); }
NLSQ_INLINE void store_double(V64 v, double* p) { Simd<double>::store(v, p); }
NLSQ_INLINE void store_double(V64 v, float* p) { Simd<double>::store_narrowed(v, p); }

template <class T>
struct InDouble {  // an operand, widened to double
  const T* base;
  std::size_t period;  // number of lanes after which a uniform repeats; 0: a vector
  V64 uniform;
  NLSQ_INLINE InDouble(const Tile<T>& t, std::int32_t operand, std::size_t row)
      : base(operand >= 0 ? t.vectors[operand] + row
                          : t.uniforms + static_cast<std::size_t>(~operand) * t.per_uniform),
        period(operand >= 0 ? 0 : t.per_uniform),
        uniform(Simd<double>::set(period == 1 ? static_cast<double>(*base) : 0.0)) {}
  NLSQ_INLINE V64 operator()(std::size_t i) const {
    return period == 1 ? uniform : load_double(base + (period == 0 ? i : i % period));
  }
};

template <class T, class F>
void unary_in_double(const Tile<T>& t, const KernelStep& s, std::size_t row, std::size_t count) {
  T* dst = t.vectors[s.dst] + row;
  const InDouble<T> a(t, s.operands[0], row);
  for (std::size_t i = 0; i < count; i += Simd<double>::lanes) store_double(F{}(a(i)), dst + i);
}

// Computes Re w or Im w. Lanes outside the range of the vector form are computed one by one.
template <class T, class Part>
void faddeeva_part(const Tile<T>& t, const KernelStep& s, std::size_t row, std::size_t count) {
  using S = Simd<double>;
  T* dst = t.vectors[s.dst] + row;
  const InDouble<T> a(t, s.operands[0], row), b(t, s.operands[1], row);
  for (std::size_t i = 0; i < count; i += S::lanes) {
    const V64 x = a(i), y = b(i), result = Part{}(special::wofz(x, y));
    if (special::in_upper_half(x, y)) [[likely]] {
      store_double(result, dst + i);
      continue;
    }
    alignas(64) double xs[S::lanes], ys[S::lanes], results[S::lanes];
    S::store(x, xs);
    S::store(y, ys);
    S::store(result, results);
    for (std::size_t l = 0; l < S::lanes; ++l) {
      if (!special::in_upper_half(S::set(xs[l]), S::set(ys[l]))) results[l] = evaluate_op(s.op, xs[l], ys[l]);
    }
    store_double(S::load(results), dst + i);
  }
}

template <class T>
StepFunction<T> select_special(const Instruction& in) {
  auto whole = [](V64 a) { return special::erfcx(a); };
  auto real = [](special::Parts w) { return w.re; };
  auto imaginary = [](special::Parts w) { return w.im; };
  switch (in.op) {
    case Op::erfcx: return unary_in_double<T, decltype(whole)>;
    case Op::wofz_re: return faddeeva_part<T, decltype(real)>;
    case Op::wofz_im: return faddeeva_part<T, decltype(imaginary)>;
    default: return by_lanes<T>;
  }
}
#else
template <class T>
StepFunction<T> select_special(const Instruction&) {
  return by_lanes<T>;
}
#endif

// Returns the step of a basic operation.
template <class T, Op op>
StepFunction<T> basic(const Instruction& in) {
  using S = Simd<T>;
  if constexpr (arity(op) == 1) {
    return unary<T>(in, [](auto a) NLSQ_INLINE_LAMBDA { return operate<S, op>(a); });
  } else if constexpr (arity(op) == 2) {
    return binary<T>(in, [](auto a, auto b) NLSQ_INLINE_LAMBDA { return operate<S, op>(a, b); });
  } else {
    return ternary<T>(in, [](auto a, auto b, auto c) NLSQ_INLINE_LAMBDA { return operate<S, op>(a, b, c); });
  }
}

template <class T>
StepFunction<T> select_elementary(const Instruction& in) {
  using V = typename Simd<T>::V;
  namespace e = elementary;
  switch (in.op) {
#define NLSQ_CASE(function) \
  case Op::function: return long_unary<T>([](V a) { return e::function(a); });
    NLSQ_ELEMENTARY_FUNCTIONS(NLSQ_CASE)
#undef NLSQ_CASE
    case Op::erfc: return long_unary<T>([](V a) { return e::erfc(a); });
    case Op::gamma: return long_unary<T>([](V a) { return e::gamma(a); });
    case Op::lgamma: return long_unary<T>([](V a) { return e::lgamma(a); });
    case Op::pow: return long_binary<T>([](V a, V b) { return e::pow(a, b); });
    case Op::hypot: return long_binary<T>([](V a, V b) { return e::hypot(a, b); });
    case Op::atan2: return long_binary<T>([](V a, V b) { return e::atan2(a, b); });
    default: return nullptr;
  }
}

template <class T>
StepFunction<T> select(const Instruction& in) {
  const auto step = [&in]<Op op>() { return basic<T, op>(in); };
  if (const auto found = with_basic(in.op, step, StepFunction<T>(nullptr)); found != nullptr) return found;
  switch (in.op) {
    case Op::constant:
    case Op::column:
    case Op::parameter:
    case Op::unexplored: return nullptr;  // leaves
    case Op::fmod:
    case Op::erfcx:
    case Op::digamma:
    case Op::trigamma:
    case Op::besj0:
    case Op::besj1:
    case Op::wofz_re:
    case Op::wofz_im: return select_special<T>(in);
    default: return select_elementary<T>(in);
  }
}

template <class T>
std::size_t decode(const Instruction* code, std::size_t instructions, KernelStep* steps) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < instructions; ++i) {
    if (i + 1 < instructions && (select_pair<T>(code[i], code[i + 1], steps[count]) ||
                                 select_sine_and_cosine<T>(code[i], code[i + 1], steps[count]) ||
                                 select_log_and_pow<T>(code[i], code[i + 1], steps[count]))) {
      ++count, ++i;
      continue;
    }
    const Instruction& in = code[i];
    const StepFunction<T> function = select<T>(in);
    if (function == nullptr) continue;
    steps[count++] = {reinterpret_cast<void (*)()>(function), in.dst, {in.a, in.b, in.c, 0}, in.op};
  }
  return count;
}

#if (defined(NLSQ_KERNEL_SET_avx2) || defined(NLSQ_KERNEL_SET_avx512)) && defined(__unix__)
// Interprets code that reads columns of doubles, which it converts to floats some rows at a time.
NLSQ_NOINLINE void interpret_with_f64(const Tile<float>& t, const GeneratedCode& code, std::size_t row,
                                      std::size_t count) {
  constexpr std::size_t some = 128;
  float narrow[most_f64_columns][some];
  float* vectors[most_vectors_with_f64];
  const Tile<float> part{vectors, t.uniforms, t.rows, t.per_uniform};
  for (std::size_t done = 0; done < count; done += some) {
    const std::size_t rows = count - done < some ? count - done : some;
    for (std::size_t v = 0; v < code.vectors; ++v) vectors[v] = t.vectors[v] + row + done;
    for (std::size_t k = 0; k < code.f64_count; ++k) {
      const auto* from = reinterpret_cast<const double*>(t.vectors[code.f64_columns[k]]) + row + done;
      for (std::size_t i = 0; i < rows; ++i) narrow[k][i] = static_cast<float>(from[i]);
      vectors[code.f64_columns[k]] = narrow[k];
    }
    for (std::size_t k = 0; k < code.count; ++k)
      reinterpret_cast<StepFunction<float>>(code.steps[k].function)(part, code.steps[k], 0, rows);
  }
}

// Runs machine code. The interpreter takes over at the first vector whose numbers are out of range for a
// function.
template <class T>
void run_generated(const Tile<T>& t, const KernelStep& s, std::size_t row, std::size_t count) {
  const GeneratedCode& code = *s.generated;
  const auto vectors = reinterpret_cast<const void* const*>(t.vectors);
  const std::size_t end = (row + count) * sizeof(T);
  const std::size_t done = code.function(vectors, t.uniforms, row * sizeof(T), end);
  if (done >= end) [[likely]]
    return;
  const std::size_t from = done / sizeof(T), left = row + count - from;
  if constexpr (sizeof(T) == sizeof(float)) {
    if (code.f64_count > 0) return interpret_with_f64(t, code, from, left);
  }
  for (std::size_t k = 0; k < code.count; ++k)
    reinterpret_cast<StepFunction<T>>(code.steps[k].function)(t, code.steps[k], from, left);
}
template <class T>
auto generated_step() {
  return reinterpret_cast<void (*)()>(StepFunction<T>(run_generated<T>));
}
#else
template <class T>
std::nullptr_t generated_step() {
  return nullptr;
}
#endif

template <class T>
void run_steps(const KernelStep* steps, std::size_t count, T* const* vectors, const T* uniforms,
               std::size_t rows, std::size_t per_uniform = 1) {
  constexpr std::size_t lanes = Simd<T>::lanes;
  const Tile<T> tile{vectors, uniforms, rows, per_uniform};
  const std::size_t padded_rows = (rows + lanes - 1) / lanes * lanes;
  const std::size_t strip = count == 1 ? padded_rows : 16 * lanes;
  for (std::size_t row = 0; row < padded_rows; row += strip) {
    const std::size_t part = padded_rows - row < strip ? padded_rows - row : strip;
    for (std::size_t k = 0; k < count; ++k)
      reinterpret_cast<StepFunction<T>>(steps[k].function)(tile, steps[k], row, part);
  }
}

// These are the functions of the table, which also count rows.
template <class T>
constexpr auto rows_in = sizeof(T) == sizeof(double) ? &KernelCounters::rows_f64 : &KernelCounters::rows_f32;

template <class T>
void run_counted(const KernelStep* steps, std::size_t count, T* const* vectors, const T* uniforms,
                 std::size_t rows, KernelCounters* counters) {
  run_steps(steps, count, vectors, uniforms, rows);
  counters->*rows_in<T> += rows;
}

// Runs steps for many problems at once. Each lane has `rows` rows.
template <class T>
void run_lanes(const KernelStep* steps, std::size_t count, T* const* vectors, const T* uniforms,
               std::size_t rows, KernelCounters* counters) {
  run_steps(steps, count, vectors, uniforms, rows * Simd<T>::lanes, Simd<T>::lanes);
  counters->*rows_in<T> += rows * Simd<T>::lanes;
}

// Runs code that was not decoded before, some instructions at a time.
template <class T>
void run(const Instruction* code, std::size_t instructions, T* const* vectors, const T* uniforms,
         std::size_t rows, KernelCounters* counters) {
  constexpr std::size_t most = 32;
  KernelStep steps[most];
  for (std::size_t i = 0; i < instructions; i += most) {
    const std::size_t count = decode<T>(code + i, instructions - i < most ? instructions - i : most, steps);
    run_steps(steps, count, vectors, uniforms, rows);
  }
  counters->*rows_in<T> += rows;
}

}  // namespace
}  // namespace nlsq::inline v0
