// Implements axes: ranges with margins, and round tick marks.
#include "plot/axis.hpp"

#include "table/source/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace nlsq::cli {

namespace {

constexpr double kMargin = 0.04;  // margin on each side, as a share of the span

// Returns half of the span. It halves before it subtracts, so that the largest doubles do not overflow.
double half_span(const Axis& axis) { return 0.5 * axis.high - 0.5 * axis.low; }

std::string superscript(int exponent) {
  constexpr std::array<const char*, 10> kDigits = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string out = exponent < 0 ? "⁻" : "";
  for (const char digit : std::to_string(std::abs(exponent)))
    out += kDigits[static_cast<std::size_t>(digit - '0')];
  return out;
}

// Returns the label of 1, 2 or 5 times a power of ten on a logarithmic axis.
std::string log_text(int mantissa, int exponent, bool plain_text) {
  if (exponent >= -3 && exponent <= 4) return fmt::format("{:g}", mantissa * std::pow(10.0, exponent));
  if (plain_text) return fmt::format("{}e{}", mantissa, exponent);
  return (mantissa == 1 ? "10" : fmt::format("{}·10", mantissa)) + superscript(exponent);
}

std::vector<Tick> log_ticks(const Axis& axis, int wanted, bool plain_text) {
  const double decades = std::log10(axis.high) - std::log10(axis.low);
  const int stride = std::max(1, static_cast<int>(std::ceil(decades / std::max(1, wanted))));
  const bool between = decades < 2;
  std::vector<Tick> ticks;
  const int last = static_cast<int>(std::floor(std::log10(axis.high)));
  for (int e = static_cast<int>(std::floor(std::log10(axis.low))); e <= last; ++e) {
    for (const int mantissa : {1, 2, 5}) {
      if (mantissa > 1 && !between) break;
      if (e % stride != 0) break;
      const double value = mantissa * std::pow(10.0, e);
      if (value < axis.low || value > axis.high) continue;
      ticks.push_back({value, log_text(mantissa, e, plain_text)});
    }
  }
  return ticks;
}

// Returns the smallest of 1, 2, 5 times a power of ten that makes at most `wanted` steps.
double round_step(double span, int wanted) {
  const double rough = span / std::max(1, wanted);
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double mantissa : {1.0, 2.0, 5.0}) {
    if (mantissa * power >= rough * (1 - 1e-9)) return mantissa * power;
  }
  return 10 * power;
}

// Returns a label. All labels of an axis have the same number of decimals, or the same number of digits if
// numbers are large or small.
std::string linear_text(double value, double step, double largest) {
  if (std::fabs(value) < step * 1e-6) return "0";
  const double step_digits = std::floor(std::log10(step) + 1e-9);
  if (largest < 1e6 && step >= 1e-4)
    return fmt::format("{:.{}f}", value, std::max(0, -static_cast<int>(step_digits)));
  const int digits = 1 + static_cast<int>(std::floor(std::log10(std::fabs(value)) + 1e-9) - step_digits);
  return fmt::format("{:.{}g}", value, std::clamp(digits, 1, 17));
}

std::vector<Tick> linear_ticks(const Axis& axis, int wanted) {
  const double step = round_step(2 * half_span(axis), wanted);
  const double largest = std::max(std::fabs(axis.low), std::fabs(axis.high));
  std::vector<Tick> ticks;
  if (!std::isfinite(step) || !(step > 0)) return ticks;
  const double first = std::ceil(axis.low / step - 1e-9);
  for (int i = 0; i <= 2 * wanted + 2; ++i) {
    const double value = (first + i) * step;
    if (!(value <= axis.high + 1e-9 * step)) break;
    if (!ticks.empty() && value == ticks.back().value) break;  // the step is below the rounding of the values
    ticks.push_back({value, linear_text(value, step, largest)});
  }
  return ticks;
}

void add_margin(Axis& axis) {
  if (axis.log) {
    const double factor = std::max(std::pow(axis.high / axis.low, kMargin), 1.05);
    if (axis.low / factor > 0) axis.low /= factor;
    if (std::isfinite(axis.high * factor)) axis.high *= factor;
    return;
  }
  double margin = 2 * kMargin * half_span(axis);
  if (axis.low == axis.high) margin = axis.low == 0 ? 1 : 0.1 * std::fabs(axis.low);
  const double low = axis.low - margin, high = axis.high + margin;
  if (std::isfinite(low)) axis.low = low;
  if (std::isfinite(high)) axis.high = high;
}

}  // namespace

double Axis::place(double value) const {
  if (!log) return (0.5 * value - 0.5 * low) / half_span(*this);
  return value > 0 ? std::log(value / low) / std::log(high / low) : std::nan("");
}

std::vector<Tick> Axis::ticks(int wanted, bool plain_text) const {
  if (log) {
    std::vector<Tick> ticks = log_ticks(*this, wanted, plain_text);
    if (ticks.size() > 1) return ticks;
  }
  return linear_ticks(*this, wanted);
}

std::size_t widest_text(const std::vector<Tick>& ticks) {
  std::size_t width = 0;
  for (const Tick& tick : ticks) width = std::max(width, count_code_points(tick.text));
  return width;
}

Axis axis_for(std::span<const double> values, bool log) {
  Axis axis{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(), log};
  for (const double value : values) {
    if (!std::isfinite(value) || (log && !(value > 0))) continue;
    axis.low = std::min(axis.low, value);
    axis.high = std::max(axis.high, value);
  }
  if (axis.low > axis.high) return log ? Axis{1, 10, true} : Axis{0, 1, false};
  add_margin(axis);
  return axis;
}

void include(Axis& axis, double value) {
  if (!std::isfinite(value) || (axis.log && !(value > 0))) return;
  axis.low = std::min(axis.low, value);
  axis.high = std::max(axis.high, value);
}

bool asks_for_log(std::span<const double> values, double most_decades) {
  if (values.empty()) return false;
  double low = values[0], high = values[0];
  for (const double value : values) {
    if (!(value > 0) || !std::isfinite(value)) return false;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  const double decades = std::log10(high) - std::log10(low);
  if (decades < 3 || decades > most_decades) return false;
  const double tenth = low + 0.1 * (high - low);
  const auto below = std::count_if(values.begin(), values.end(), [&](double v) { return v <= tenth; });
  return 2 * static_cast<std::size_t>(below) >= values.size();
}

}  // namespace nlsq::cli
