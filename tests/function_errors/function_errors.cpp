// Measures the largest errors of the elementary functions of a kernel set, in units of the last place. It
// takes N seeded doubles for each function, or every float. The reference is the C library in long double,
// whose own error is below a thousandth of a double's last place.
//
//   nlsq_function_errors [--arguments N] [--floats] [FUNCTION…]
//
// NLSQ_ISA chooses the kernel set.
//
// The exit status is 1 if an error is above the bound that jacobian/kernels/README.md promises.
#include <nlsq/op.hpp>
#include "kernels/kernel_table.hpp"
#include "support/random.hpp"

#include <fmt/format.h>

#include <kernel_harness.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numbers>
#include <string>
#include <string_view>
#include <vector>

namespace {

using nlsq::Op;
using nlsq::Random;
using Wide = long double;

// A function, the range of arguments in which its values are interesting, and an argument near which it is
// hard to compute. With a `period` it is also hard near multiples of that. The second argument of pow has its
// own range.
struct Function {
  Op op;
  Wide (*reference)(Wide, Wide);
  double least, most, hard, period, bound;
};

constexpr double kLargest = 1e300, kHalfPi = std::numbers::pi / 2;
// clang-format off
constexpr Function functions[] = {
    {Op::exp, [](Wide a, Wide) { return std::exp(a); }, -745, 710, 0, 0, 1.01},
    {Op::expm1, [](Wide a, Wide) { return std::expm1(a); }, -40, 710, 0, 0, 1.01},
    {Op::log, [](Wide a, Wide) { return std::log(a); }, 0x1p-1022, kLargest, 1, 0, 1.01},
    {Op::log1p, [](Wide a, Wide) { return std::log1p(a); }, -1 + 0x1p-53, kLargest, 0, 0, 1.01},
    {Op::sin, [](Wide a, Wide) { return std::sin(a); }, -1e6, 1e6, 0, kHalfPi, 1.01},
    {Op::cos, [](Wide a, Wide) { return std::cos(a); }, -1e6, 1e6, 0, kHalfPi, 1.01},
    {Op::tanh, [](Wide a, Wide) { return std::tanh(a); }, -22, 22, 0, 0, 1.01},
    {Op::atan, [](Wide a, Wide) { return std::atan(a); }, -kLargest, kLargest, 1, 0, 1.01},
    {Op::erf, [](Wide a, Wide) { return std::erf(a); }, -6.5, 6.5, 0, 0, 1.01},
    {Op::erfc, [](Wide a, Wide) { return std::erfc(a); }, -6.5, 26.5, 0, 0, 1.5},
    {Op::pow, [](Wide a, Wide b) { return std::pow(a, b); }, 0x1p-1022, kLargest, 1, 0, 1.01},
};
// clang-format on

// A quarter of the arguments are uniform in the range, or in its part within 1000 of zero if it is longer. A
// quarter have every magnitude. Half lie at every distance from a place where the function is hard.
double draw(const Function& f, Random& random) {
  const double from = std::max(f.least, -1000.0), to = std::min(f.most, 1000.0);
  const std::uint64_t kind = random.bits() >> 62;
  const double u = random.uniform();
  if (kind == 0) return from + (to - from) * u;
  const double sign = random.bits() & 1 ? 1 : -1;
  if (kind == 1) {
    const double exponent = -60 + (std::log2(std::min(f.most, 1e300)) + 60) * random.uniform();
    return std::clamp(sign * std::exp2(exponent) * (1 + u), f.least, f.most);
  }
  const double around = f.period > 0 ? std::nearbyint(u * f.most / f.period) * f.period : f.hard;
  return std::clamp(around + sign * (1 + u) * std::exp2(-1 - 52 * random.uniform()), f.least, f.most);
}

struct Worst {
  double error = 0, at = 0, second = 0;
};

constexpr std::size_t kTile = 512;

// Evaluates one tile of arguments and keeps the largest error. Results below eight times the smallest normal
// number are left out, because they have another bound.
template <class T>
void add_tile(const Function& f, std::vector<T>& x, std::vector<T>& y, std::vector<T>& result, Worst& worst) {
  const nlsq::Instruction code{f.op, 2, 0, 1, 0};
  T* vectors[] = {x.data(), y.data(), result.data()};
  nlsq::KernelCounters counters;
  harness::run(nlsq::kernels(), &code, 1, vectors, static_cast<const T*>(nullptr), kTile, &counters);
  for (std::size_t i = 0; i < kTile; ++i) {
    const Wide want = f.reference(x[i], y[i]);
    if (!(std::fabs(want) >= 8 * std::numeric_limits<T>::min()) ||
        std::fabs(want) > std::numeric_limits<T>::max())
      continue;
    const double error = harness::ulps(result[i], want);
    if (error > worst.error) worst = {error, static_cast<double>(x[i]), static_cast<double>(y[i])};
  }
}

Worst over_doubles(const Function& f, std::uint64_t arguments) {
  Random random(static_cast<std::uint64_t>(f.op) + 1);
  std::vector<double> x(kTile), y(kTile, 1.0), result(kTile);
  Worst worst;
  for (std::uint64_t done = 0; done < arguments; done += kTile) {
    for (std::size_t i = 0; i < kTile; ++i) {
      x[i] = draw(f, random);
      // Draws exponents whose powers stay in the range of doubles. Most powers are near its ends.
      if (f.op == Op::pow)
        y[i] = (2 * random.uniform() - 1) * 709 / std::max(0x1p-40, std::fabs(std::log(x[i])));
    }
    add_tile(f, x, y, result, worst);
  }
  return worst;
}

Worst over_floats(const Function& f) {
  std::vector<float> x(kTile), y(kTile, 1.0f), result(kTile);
  Worst worst;
  std::size_t filled = 0;
  Random random(1);
  for (std::uint64_t bits = 0; bits <= 0xffffffffu; ++bits) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (!(value >= f.least && value <= f.most)) continue;
    x[filled] = value;
    if (f.op == Op::pow)
      y[filled] = static_cast<float>((2 * random.uniform() - 1) * 88 /
                                     std::max(0x1p-20, std::fabs(std::log(static_cast<double>(value)))));
    if (++filled < kTile) continue;
    add_tile(f, x, y, result, worst);
    filled = 0;
  }
  std::fill(x.begin() + static_cast<std::ptrdiff_t>(filled), x.end(), 1.0f);
  add_tile(f, x, y, result, worst);
  return worst;
}

int usage(const std::string& message) {
  fmt::print(stderr,
             "nlsq_function_errors: {}\nusage: nlsq_function_errors [--arguments N] [--floats] [FUNCTION…]\n",
             message);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  double arguments = 1e7;
  bool floats = false;
  std::vector<std::string_view> names;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--floats") floats = true;
    else if (word == "--arguments" && i + 1 < argc) arguments = std::atof(argv[++i]);
    else if (word.starts_with("-")) return usage(fmt::format("unknown option {}", word));
    else names.push_back(word);
  }
  if (!(arguments >= 1 && arguments <= 1e15)) return usage("--arguments wants a number from 1 to 1e15");
  for (const std::string_view name : names) {
    if (std::ranges::none_of(functions, [&](const Function& f) { return nlsq::name(f.op) == name; }))
      return usage(fmt::format("no function {} is measured here", name));
  }
  bool within = true;
  for (const Function& f : functions) {
    if (!names.empty() && std::ranges::find(names, nlsq::name(f.op)) == names.end()) continue;
    const auto show = [&](const char* format, const Worst& worst) {
      const bool good = worst.error <= f.bound;
      within = within && good;
      fmt::print("{:6} {} {:8} {:.3f} ulp at {:a}{}{}\n", nlsq::name(f.op), format, nlsq::kernels().name,
                 worst.error, worst.at, f.op == Op::pow ? fmt::format(", {:a}", worst.second) : "",
                 good ? "" : fmt::format("  ABOVE ITS BOUND {}", f.bound));
      std::fflush(stdout);
    };
    if (floats) show("f32", over_floats(f));
    else show("f64", over_doubles(f, static_cast<std::uint64_t>(arguments)));
  }
  return within ? 0 : 1;
}
