// Goes through every 61st float at which exp, log, sin and cos have their own vector forms, for every set of
// kernels. The reference is the C library in double. Its error is 2^-29 of a float's unit in the last place.
#include <nlsq/op.hpp>
#include "kernels/kernel_table.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

using nlsq::Op;

namespace {

struct Sweep {
  Op op;
  double (*reference)(double);
  float least, most;  // range of the magnitude
  bool negative;      // negative arguments, too
};

constexpr Sweep sweeps[] = {
    {Op::exp, [](double x) { return std::exp(x); }, 0x1p-26f, 104.0f, true},
    {Op::log, [](double x) { return std::log(x); }, 0x1p-149f, 0x1.fffffep+127f, false},
    {Op::sin, [](double x) { return std::sin(x); }, 0x1p-14f, 1e4f, true},
    {Op::cos, [](double x) { return std::cos(x); }, 0x1p-14f, 1e4f, true},
};

// Returns the distance of `got` in units of the last place that a float of the size of `want` has.
double ulps(float got, double want) {
  if (std::fabs(want) > 0x1.ffffffp+127) return std::isinf(got) ? 0 : 1e9;
  const int exponent = want == 0 ? -126 : std::max(std::ilogb(want), -126);
  return std::fabs(static_cast<double>(got) - want) * std::ldexp(1.0, 23 - exponent);
}

// Returns the largest error over all floats of the sweep, or over every `stride`-th.
double largest_error(const nlsq::KernelTable& set, const Sweep& s, std::uint32_t stride) {
  constexpr std::size_t tile = 512;
  std::vector<float> x(tile), result(tile);
  float* vectors[] = {x.data(), result.data()};
  const nlsq::Instruction code{s.op, 1, 0, 0, 0};
  nlsq::KernelCounters counters;
  double worst = 0;
  const std::uint32_t last = std::bit_cast<std::uint32_t>(s.most);
  std::uint32_t next = std::bit_cast<std::uint32_t>(s.least);
  while (next <= last) {
    for (std::size_t i = 0; i < tile; i += 2) {
      x[i] = x[i + 1] = std::bit_cast<float>(next <= last ? next : last);
      if (s.negative) x[i + 1] = -x[i];
      next = last - std::min(next, last) < stride ? last + 1 : next + stride;
    }
    set.f32.run(&code, 1, vectors, nullptr, tile, &counters);
    for (std::size_t i = 0; i < tile; ++i)
      worst = std::max(worst, ulps(result[i], s.reference(static_cast<double>(x[i]))));
  }
  return worst;
}

}  // namespace

TEST_CASE("exp, log, sin and cos of every 61st float err by less than one unit in the last place") {
  for (const nlsq::KernelTable* set : nlsq::available_kernels()) {
    // The baseline set calls SLEEF, whose authors give the bound, so a sample suffices.
    const bool own = std::string(set->name) != "baseline";
    for (const Sweep& s : sweeps) {
      const double worst = largest_error(*set, s, own ? 61 : 997);
      MESSAGE(std::string(set->name), " ", std::string(nlsq::name(s.op)), ": ", worst, " ulp");
      CHECK(worst < (own ? 1.0 : 1.01));
    }
  }
}
