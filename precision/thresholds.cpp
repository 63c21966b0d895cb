// Defines presets of the scheduler's thresholds, and the table of their names and ranges.
#include <nlsq/thresholds.hpp>

#include <array>

namespace nlsq::inline v0 {

namespace {

using T = Thresholds;

// Lists the range of each threshold, in the order of the struct.
constexpr std::array<ThresholdInfo, 15> kTable{{
    {"entry_work", &T::entry_work, 0, 1e18},
    {"sixteen_bit_parameters", &T::sixteen_bit_parameters, 1, 1e9},
    {"gram_contraction", &T::gram_contraction, 1e-6, 1},
    {"wide_condition", &T::wide_condition, 1, 1e14},
    {"f64_condition", &T::f64_condition, 1, 1e15},
    {"nonfinite_tiles", &T::nonfinite_tiles, 0, 1},
    {"epsilon_j", &T::epsilon_j, 1e-6, 1},
    {"gradient_noise", &T::gradient_noise, 1e-6, 1},
    {"cost_noise", &T::cost_noise, 1e-6, 1},
    {"undecided_steps", &T::undecided_steps, 1, 1000},
    {"rejected_contraction", &T::rejected_contraction, 1e-6, 1},
    {"descents", &T::descents, 0, 1000},
    {"gain_ratio", &T::gain_ratio, 1e-6, 0.75},
    {"checkpoint_steps", &T::checkpoint_steps, 1, 1000},
    {"wasted_work", &T::wasted_work, 0, 1},
}};

}  // namespace

Thresholds Thresholds::conservative() {
  Thresholds t;
  t.entry_work = 8e6;
  t.gram_contraction = t.epsilon_j = t.gradient_noise = 0.03;
  t.cost_noise = 0.25;
  t.undecided_steps = 1;
  t.nonfinite_tiles = 0.001;
  t.rejected_contraction = 0.015;
  t.descents = 0;
  t.checkpoint_steps = 4;
  return t;
}

Thresholds Thresholds::aggressive() {
  Thresholds t;
  t.entry_work = 5e5;
  t.gram_contraction = t.epsilon_j = t.gradient_noise = 0.3;
  t.undecided_steps = 3;
  t.nonfinite_tiles = 0.05;
  t.rejected_contraction = 0.15;
  t.descents = 4;
  t.checkpoint_steps = 16;
  return t;
}

std::span<const ThresholdInfo> threshold_table() noexcept { return kTable; }

double value_of(const Thresholds& thresholds, const ThresholdInfo& info) {
  return std::visit([&](auto member) { return static_cast<double>(thresholds.*member); }, info.member);
}

void set_value(Thresholds& thresholds, const ThresholdInfo& info, double value) {
  if (const auto* real = std::get_if<double T::*>(&info.member)) thresholds.*(*real) = value;
  else
    thresholds.*(std::get<int T::*>(info.member)) =
        value >= -1e9 && value <= 1e9 ? static_cast<int>(value) : -1;
}

}  // namespace nlsq::inline v0
