// Tests that a caller's floating-point environment changes no bit of a result, and is restored afterwards.
#include <nlsq/nlsq.hpp>

#include "kernels/flush_tiny.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "caller.hpp"

using caller::Data;

namespace {

Data decay(double unit) {
  Data d{{}, {}, unit};
  for (int i = 0; i < 200; ++i) {
    d.x.push_back(0.02 * i);
    d.y.push_back(unit * (2.5 * std::exp(-1.3 * d.x.back()) + 0.5 + 0.02 * std::sin(12.9898 * i)));
  }
  return d;
}

void check_same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  int different = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    different += std::bit_cast<std::uint64_t>(a[i]) != std::bit_cast<std::uint64_t>(b[i]);
  }
  CHECK(different == 0);
}

#if defined(__x86_64__)
constexpr unsigned flush_to_zero = 0x8000, denormals_are_zero = 0x0040, control_bits = 0xffc0;
#endif

}  // namespace

TEST_CASE("rounding modes of the caller change no bit, and stay") {
  const Data d = decay(1);
  const std::vector<double> expected = caller::all_numbers(d);
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    CAPTURE(mode);
    std::fesetround(mode);
    const std::vector<double> found = caller::all_numbers(d);
    const int after = std::fegetround();
    std::fesetround(FE_TONEAREST);
    CHECK(after == mode);
    check_same_bits(found, expected);
  }
}

#if defined(__x86_64__)
TEST_CASE("a caller that flushes subnormal numbers gets the same bits, of subnormal data too") {
  for (const double unit : {1.0, 0x1p-1040}) {
    CAPTURE(unit);
    const Data d = decay(unit);
    const std::vector<double> expected = caller::all_numbers(d);
    const unsigned before = _mm_getcsr();
    const unsigned flushing = before | flush_to_zero | denormals_are_zero;
    _mm_setcsr(flushing);
    const std::vector<double> found = caller::all_numbers(d);
    const unsigned after = _mm_getcsr();
    _mm_setcsr(before);
    CHECK((after & control_bits) == (flushing & control_bits));
    check_same_bits(found, expected);
  }
}

TEST_CASE("floating-point traps of the caller do not fire inside, and are armed again afterwards") {
  const Data d = decay(1);
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before & ~0x0e80u & ~0x3fu);  // invalid, division by zero, overflow, underflow unmasked
  const unsigned armed = _mm_getcsr();
  // The first step leads where the logarithm has no value, and the second model has 1/0 at the start.
  const nlsq::FitResult fit = nlsq::curve_fit("log(a+b*x)", d.x, d.y, {{"a", 9}, {"b", 1}});
  const nlsq::FitResult pole = nlsq::curve_fit("a/(x-x)+b", d.x, d.y);
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  CHECK((after & control_bits) == (armed & control_bits));
  CHECK(fit.summary.termination != nlsq::Termination::failure);
  CHECK(pole.summary.termination == nlsq::Termination::failure);
}
#endif

TEST_CASE("the environment is put back when a callable throws") {
  const Data d = decay(1);
  std::fesetround(FE_UPWARD);
  CHECK_THROWS_AS(nlsq::curve_fit(
                      [](double x, const std::vector<double>& p) -> double {
                        if (p[0] > 0) throw std::runtime_error("by the user");
                        return x;
                      },
                      d.x, d.y, {1.0}),
                  std::runtime_error);
  const int after = std::fegetround();
  std::fesetround(FE_TONEAREST);
  CHECK(after == FE_UPWARD);
}

TEST_CASE("least_squares puts the environment back, too") {
  std::fesetround(FE_DOWNWARD);
  const auto r = nlsq::least_squares(
      [](const auto& p) {
        return std::vector{p[0] - 1, 2 * p[0] - 3};
      },
      {5.0});
  const int after = std::fegetround();
  std::fesetround(FE_TONEAREST);
  CHECK(after == FE_DOWNWARD);
  CHECK(r.success());
}

TEST_CASE("a program compiled with -ffast-math gets the same bits") {
  for (const double unit : {1.0, 0x1p-1040}) {
    const Data d = decay(unit);
    check_same_bits(caller::all_numbers_with_fast_math(d), caller::all_numbers(d));
  }
}

#if defined(__x86_64__)
// An Intel CPU is slow with subnormal numbers, so passes over all rows make them zero.
TEST_CASE("numbers are flushed where a pass wants it, and no longer than that") {
  const auto half = [] {
    volatile double subnormal = 0x1p-1060;
    subnormal = subnormal * 0.5;
    return subnormal;
  };
  const auto under_flush = [&](bool wanted) {
    const nlsq::FlushTiny flush(wanted);
    return half();
  };
  CHECK(under_flush(false) > 0);
  CHECK(half() > 0);
  CHECK(under_flush(true) == 0);
  CHECK(half() > 0);
  {
    const nlsq::FlushTiny outer(true);
    CHECK(under_flush(true) == 0);
    CHECK(half() == 0);
  }
  CHECK(half() > 0);
}

TEST_CASE("the user's function does not run under a flush, and values of a model keep subnormal numbers") {
  const std::vector<double> x = {-740, -1};
  CHECK(nlsq::evaluate("a*exp(x)", x, {{"a", 1.0}}).values[0] > 0);
  const Data d = decay(1);
  int calls = 0, flushed = 0;
  const auto called = [&](double at, const std::vector<double>& p) {
    volatile double subnormal = 0x1p-1060;
    subnormal = subnormal * 0.5;
    ++calls;
    flushed += subnormal == 0;
    return p[0] * std::exp(-p[1] * at) + p[2];
  };
  CHECK(nlsq::curve_fit(called, d.x, d.y, {2.0, 1.0, 0.0}).success());
  CHECK(calls > 0);
  CHECK(flushed == 0);
}
#endif
