// Rounding to the formats of 16 bits. The loops have no branches, so that the compiler can vectorize them.
#include "convert.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kLanes = 8;  // independent sums and maxima, so that the loops vectorize
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Returns 2^exponent, for the exponents of normal doubles.
constexpr double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

// Returns 1 / q for a power of two q.
double reciprocal(double q) {
  return std::bit_cast<double>((std::uint64_t{2046} << 52) - std::bit_cast<std::uint64_t>(q));
}

// This is a format: its number of binary digits, and the exponents of its normal numbers.
struct Shape {
  int digits, lowest, highest;
};

constexpr Shape shape_of(Format format) {
  return format == Format::bf16 ? Shape{8, -126, 127} : Shape{11, -14, 15};
}

// Rounds values * scale to the nearest numbers of the format, and divides by the scale.
template <class T>
void round_all(Format to, std::span<T> values, double scale) {
  const Shape shape = shape_of(to);
  const double least = power_of_two(shape.lowest), step = power_of_two(1 - shape.digits),
               largest = info(to).max, back = reciprocal(scale);
  for (T& value : values) {
    const double v = static_cast<double>(value) * scale;
    // Computes the spacing of the format's numbers at v. Below the smallest normal number it is the spacing
    // there.
    const double binade =
        std::bit_cast<double>(std::bit_cast<std::uint64_t>(v) & (std::uint64_t{0x7ff} << 52));
    const double quantum = (binade > least ? binade : least) * step;
    const double count = std::fabs(v) * reciprocal(quantum);
    const double size = ((count + 0x1p52) - 0x1p52) * quantum;  // adding 2^52 removes the fraction
    const double rounded = std::copysign(size > largest ? kInfinity : size, v);
    value = static_cast<T>((std::fabs(v) < kInfinity ? rounded : v) * back);
  }
}

// Adds up f(|value * scale|) over all finite values, or takes the largest, in kLanes independent lanes.
template <class T, class F>
void over_finite(std::span<const T> values, double scale, double (&lanes)[kLanes], F f) {
  const auto take = [&](std::size_t i, std::size_t lane) {
    const double size = std::fabs(static_cast<double>(values[i]) * scale);
    lanes[lane] = f(lanes[lane], size < kInfinity ? size : 0.0);
  };
  const std::size_t whole = values.size() / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes)
    for (std::size_t l = 0; l < kLanes; ++l) take(i + l, l);
  for (std::size_t i = whole; i < values.size(); ++i) take(i, i - whole);
}

// Returns the scale that `round_scaled_to` describes.
template <class T>
double scale_of(std::span<const T> values, Format to) {
  double lanes[kLanes] = {};
  over_finite(values, 1.0, lanes, [](double top, double v) { return v > top ? v : top; });
  const double largest = *std::max_element(lanes, lanes + kLanes);
  if (largest == 0) return 1;
  const int top = std::clamp(std::ilogb(largest), -1022, 1022);  // keeps the reciprocal a normal number
  std::fill(lanes, lanes + kLanes, 0.0);
  std::size_t count = 0;
  for (const T v : values) count += std::fabs(static_cast<double>(v)) < kInfinity ? 1 : 0;
  over_finite(values, power_of_two(-top), lanes, [](double sum, double v) { return sum + v * v; });
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  const int mean = top + std::ilogb(std::sqrt(sum / static_cast<double>(count)));
  const int highest = shape_of(to).highest - 1;
  return power_of_two(std::clamp(std::min(-mean, highest - std::ilogb(largest)), -1022, 1022));
}

}  // namespace

void round_to(Format to, std::span<double> values) { round_all(to, values, 1.0); }

void round_scaled_to(Format to, std::span<double> values) {
  round_all(to, values, scale_of(std::span<const double>(values), to));
}

void round_scaled_to(Format to, std::span<float> values) {
  round_all(to, values, scale_of(std::span<const float>(values), to));
}

}  // namespace nlsq::inline v0
