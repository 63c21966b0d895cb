// Conversion of spans of numbers to narrower formats and back, block by block.
#include "convert.hpp"

#include "convert_bits.hpp"

#include <nlsq/error.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kLanes = 8;  // independent sums and maxima, so that the loops vectorize

bool finite(double v) { return std::fabs(v) < std::numeric_limits<double>::infinity(); }

// Loads the block that begins at `first`, as doubles times `scale`. Pads it with zeros.
template <class T>
void load(std::span<const T> from, std::size_t first, double scale, double* block) {
  const std::size_t count = std::min(kConvertBlock, from.size() - first);
  for (std::size_t i = 0; i < count; ++i) block[i] = static_cast<double>(from[first + i]) * scale;
  std::fill(block + count, block + kConvertBlock, 0.0);
}

// Sums or maximizes f(value) over all finite values, in kLanes independent lanes.
template <class T, class F>
void over_finite(std::span<const T> from, double scale, double (&lanes)[kLanes], F f) {
  double v[kConvertBlock];
  for (std::size_t first = 0; first < from.size(); first += kConvertBlock) {
    load(from, first, scale, v);
    for (std::size_t i = 0; i < kConvertBlock; i += kLanes)
      for (std::size_t l = 0; l < kLanes; ++l)
        lanes[l] = f(lanes[l], finite(v[i + l]) ? std::fabs(v[i + l]) : 0.0);
  }
}

// Returns the power of two that brings the root mean square of the finite values into [1, 2), or a smaller
// one where the largest value would overflow.
template <class T>
double scale_of(std::span<const T> from, Format to) {
  double lanes[kLanes] = {};
  over_finite(from, 1.0, lanes, [](double top, double v) { return v > top ? v : top; });
  const double largest = *std::max_element(lanes, lanes + kLanes);
  if (largest == 0) return 1;
  const int top = std::clamp(std::ilogb(largest), -1022, 1022);  // keeps the reciprocal a normal number
  std::fill(lanes, lanes + kLanes, 0.0);
  std::size_t count = 0;
  for (const T v : from) count += finite(static_cast<double>(v)) ? 1 : 0;
  over_finite(from, power_of_two(-top), lanes, [](double sum, double v) { return sum + v * v; });
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  const int mean = top + std::ilogb(std::sqrt(sum / static_cast<double>(count)));
  const int highest = shape_of(to).highest - 1;
  return power_of_two(std::clamp(std::min(-mean, highest - std::ilogb(largest)), -1022, 1022));
}

// Counts errors, overflows, underflows and NaN over the blocks.
class Tally {
 public:
  Tally(Format to, double scale) : least_(info(to).min_normal), scale_(scale), back_(reciprocal(scale)) {}

  // x: the given values, r: the stored values. One loop for each quantity, because the compiler does not
  // vectorize a loop over several.
  void add(const double* x, const double* r) {
    const double inf = std::numeric_limits<double>::infinity();
    double size[kConvertBlock], error[kConvertBlock];
    for (std::size_t i = 0; i < kConvertBlock; ++i) {
      size[i] = std::fabs(x[i]);
      error[i] =
          std::fabs(r[i] * back_ - x[i]);  // a NaN or an infinite difference is not counted as an error
      error[i] = error[i] < inf ? error[i] : 0.0;
    }
    raise(absolute_, error);
    count(overflows_,
          [&](std::size_t i) { return (std::fabs(r[i]) == inf ? 1.0 : 0.0) - (size[i] == inf ? 1.0 : 0.0); });
    count(underflows_,
          [&](std::size_t i) { return (std::fabs(r[i]) < least_ ? 1.0 : 0.0) * (error[i] > 0 ? 1.0 : 0.0); });
    count(nans_, [&](std::size_t i) { return x[i] != x[i] ? 1.0 : 0.0; });
    for (std::size_t i = 0; i < kConvertBlock; ++i) {
      error[i] = error[i] / size[i];
      error[i] = error[i] < inf ? error[i] : 0.0;
    }
    raise(relative_, error);
  }

  Conversion total() const {
    Conversion c;
    c.scale = scale_;
    for (std::size_t l = 0; l < kLanes; ++l) {
      c.largest_absolute_error = std::max(c.largest_absolute_error, absolute_[l]);
      c.largest_relative_error = std::max(c.largest_relative_error, relative_[l]);
    }
    c.overflows = overflows_;
    c.underflows = underflows_;
    c.nans = nans_;
    return c;
  }

 private:
  static void raise(double (&lanes)[kLanes], const double* values) {
    for (std::size_t i = 0; i < kConvertBlock; i += kLanes)
      for (std::size_t l = 0; l < kLanes; ++l) lanes[l] = values[i + l] > lanes[l] ? values[i + l] : lanes[l];
  }

  // f returns 1 or 0. The sum is a double, so that it uses the same lanes as the comparison.
  template <class F>
  static void count(std::uint64_t& total, F f) {
    double lanes[kLanes] = {};
    for (std::size_t i = 0; i < kConvertBlock; i += kLanes)
      for (std::size_t l = 0; l < kLanes; ++l) lanes[l] += f(i + l);
    for (const double lane : lanes) total += static_cast<std::uint64_t>(lane);
  }

  double least_, scale_, back_;
  double absolute_[kLanes] = {}, relative_[kLanes] = {};
  std::uint64_t overflows_ = 0, underflows_ = 0, nans_ = 0;
};

// Rounds every block, and calls store(first, count, rounded) for each.
template <class T, class Store>
Conversion run(std::span<const T> from, Format to, Rounding rounding, std::uint64_t seed, Store store) {
  const double scale = rounding == Rounding::scaled ? scale_of(from, to) : 1.0;
  Tally tally(to, scale);
  double x[kConvertBlock], v[kConvertBlock], rounded[kConvertBlock];
  for (std::size_t first = 0; first < from.size(); first += kConvertBlock) {
    load(from, first, 1.0, x);
    for (std::size_t i = 0; i < kConvertBlock; ++i) v[i] = x[i] * scale;
    if (rounding == Rounding::stochastic) round_stochastically(to, seed, first, v, rounded);
    else round_to_nearest(to, v, rounded);
    tally.add(x, rounded);
    store(first, std::min(kConvertBlock, from.size() - first), rounded);
  }
  return tally.total();
}

void check_sizes(std::size_t from, std::size_t into, Format to) {
  if (from == into) return;
  throw ConversionError(
      fmt::format("{} values do not fit storage for {} in {}: give as many elements", from, into, name(to)),
      to);
}

void check_half(Format format) {
  if (format == Format::bf16 || format == Format::f16) return;
  throw ConversionError(
      fmt::format("{} is not a format of 16 bits: use bf16 or f16, or storage of its own type", name(format)),
      format);
}

template <class T>
Conversion into_halves(std::span<const T> from, Format to, std::span<std::uint16_t> into, Rounding rounding,
                       std::uint64_t seed) {
  check_half(to);
  check_sizes(from.size(), into.size(), to);
  return run(from, to, rounding, seed, [&](std::size_t first, std::size_t count, const double* rounded) {
    std::uint16_t* out = into.data() + first;
    if (to == Format::bf16)
      for (std::size_t i = 0; i < count; ++i) out[i] = to_bf16(rounded[i]);
    else
      for (std::size_t i = 0; i < count; ++i) out[i] = to_f16(rounded[i]);
  });
}

template <class T>
Conversion into_floats(std::span<const T> from, std::span<float> into, Rounding rounding,
                       std::uint64_t seed) {
  check_sizes(from.size(), into.size(), Format::f32);
  return run(from, Format::f32, rounding, seed,
             [&](std::size_t first, std::size_t count, const double* rounded) {
               for (std::size_t i = 0; i < count; ++i) into[first + i] = static_cast<float>(rounded[i]);
             });
}

template <class T>
Converted owned(std::span<const T> from, Format to, Rounding rounding, std::uint64_t seed) {
  Converted result;
  result.format = to;
  if (to == Format::f64) {
    result.doubles.assign(from.begin(), from.end());
    for (const double v : result.doubles) result.conversion.nans += std::isnan(v) ? 1 : 0;
  } else if (to == Format::f32) {
    result.floats.resize(from.size());
    result.conversion = into_floats(from, std::span<float>(result.floats), rounding, seed);
  } else {
    result.halves.resize(from.size());
    result.conversion = into_halves(from, to, std::span<std::uint16_t>(result.halves), rounding, seed);
  }
  return result;
}

template <class T>
void widen_halves(std::span<const std::uint16_t> from, Format format, std::span<T> into) {
  check_half(format);
  check_sizes(from.size(), into.size(), format);
  const std::uint16_t* in = from.data();
  T* out = into.data();
  if (format == Format::bf16)
    for (std::size_t i = 0; i < from.size(); ++i) out[i] = static_cast<T>(from_bf16(in[i]));
  else
    for (std::size_t i = 0; i < from.size(); ++i) out[i] = static_cast<T>(from_f16(in[i]));
}

}  // namespace

std::vector<double> Converted::values() const {
  std::vector<double> result(doubles);
  if (format == Format::f32) result.assign(floats.begin(), floats.end());
  if (!halves.empty()) {
    result.resize(halves.size());
    widen(halves, format, std::span<double>(result));
  }
  const double back = reciprocal(conversion.scale);
  for (double& v : result) v *= back;
  return result;
}

Converted convert(std::span<const double> from, Format to, Rounding rounding, std::uint64_t seed) {
  return owned(from, to, rounding, seed);
}

Converted convert(std::span<const float> from, Format to, Rounding rounding, std::uint64_t seed) {
  return owned(from, to, rounding, seed);
}

Conversion convert_into(std::span<const double> from, Format to, std::span<std::uint16_t> into,
                        Rounding rounding, std::uint64_t seed) {
  return into_halves(from, to, into, rounding, seed);
}

Conversion convert_into(std::span<const float> from, Format to, std::span<std::uint16_t> into,
                        Rounding rounding, std::uint64_t seed) {
  return into_halves(from, to, into, rounding, seed);
}

Conversion convert_into(std::span<const double> from, std::span<float> into, Rounding rounding,
                        std::uint64_t seed) {
  return into_floats(from, into, rounding, seed);
}

void widen(std::span<const std::uint16_t> from, Format format, std::span<float> into) {
  widen_halves(from, format, into);
}

void widen(std::span<const std::uint16_t> from, Format format, std::span<double> into) {
  widen_halves(from, format, into);
}

}  // namespace nlsq::inline v0
