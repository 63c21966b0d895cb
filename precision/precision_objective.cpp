// Parses objectives, and chooses among measured policies.
#include <nlsq/precision_objective.hpp>

#include <nlsq/error.hpp>

#include "enum_names.hpp"
#include "policy_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

namespace nlsq::inline v0 {

namespace {

constexpr std::array kObjectives{Objective::speed, Objective::memory, Objective::accuracy,
                                 Objective::balanced};
constexpr double kAllDigits = 16;
constexpr double kUsualDigits = 12;
constexpr double kSameTime = 1.03;  // times within this factor count as equal
constexpr const char* kUseObjective = "use speed[:2], memory[:0.5], accuracy[:12] or balanced[:0.4,0.3,0.3]";

[[noreturn]] void refuse(std::string_view text, const std::string& reason) {
  throw ValidationError(fmt::format("objective '{}': {}", text, reason));
}

double read_target(std::string_view text, std::string_view given, Objective objective) {
  const std::optional<double> value = number(given);
  const auto check = [&](double most, const char* what) {
    if (!value || !(*value > 0 && *value <= most)) {
      refuse(text, fmt::format("'{}' is no target: {} is a number above 0, at most {:g}", given, what, most));
    }
    return *value;
  };
  switch (objective) {
    case Objective::speed: return check(1e6, "how many times as fast as f64");
    case Objective::memory: return check(1e6, "the share of f64's memory");
    default: return check(kAllDigits, "how many digits agree with f64");
  }
}

void read_weights(std::string_view text, std::string_view given, double (&weights)[3]) {
  const std::vector<std::string_view> pieces = split(given, ',');
  if (pieces.size() != 3)
    refuse(text, fmt::format("{} weight(s); give three: of speed, memory and accuracy", pieces.size()));
  double sum = 0;
  for (std::size_t k = 0; k < 3; ++k) {
    const std::optional<double> value = number(pieces[k]);
    if (!value || !(*value >= 0 && *value <= 1e6))
      refuse(text, fmt::format("'{}' is no weight: give numbers, 0 or more", pieces[k]));
    sum += weights[k] = *value;
  }
  if (!(sum > 0)) refuse(text, "all weights are 0: nothing is asked for");
  for (double& w : weights) w /= sum;
}

// Holds the candidates, and the f64 measurement that they are compared with.
class Chooser {
 public:
  Chooser(std::span<const PolicyMeasurement> measured, const PrecisionObjective& objective)
      : all_(measured), objective_(objective) {
    const auto f64 = std::ranges::find(all_, "f64", &PolicyMeasurement::policy);
    if (f64 == all_.end())
      throw ValidationError("policies are compared with f64, which was not measured: measure it, too");
    f64_ = static_cast<std::size_t>(f64 - all_.begin());
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (all_[i].certified || !f64->certified) candidates_.push_back(i);
    }
  }

  PolicyChoice choose() const {
    switch (objective_.objective) {
      case Objective::speed: return speed();
      case Objective::memory: return memory();
      case Objective::accuracy: return accuracy();
      case Objective::balanced: break;
    }
    return balanced();
  }

 private:
  const PolicyMeasurement& f64() const { return all_[f64_]; }
  double speed_of(std::size_t i) const { return f64().seconds / all_[i].seconds; }
  double memory_of(std::size_t i) const {
    return static_cast<double>(all_[i].peak_bytes) /
           static_cast<double>(std::max<std::size_t>(1, f64().peak_bytes));
  }

  // Returns the first of the fastest.
  std::size_t fastest(const std::vector<std::size_t>& among) const {
    double least = std::numeric_limits<double>::infinity();
    for (const std::size_t i : among) least = std::min(least, all_[i].seconds);
    return *std::ranges::find_if(among, [&](std::size_t i) { return all_[i].seconds <= kSameTime * least; });
  }

  PolicyChoice choice(std::size_t index, bool met, const std::string& figure, const std::string& wish) const {
    std::string message = fmt::format("{}: '{}' has {}", objective_.to_string(), all_[index].policy, figure);
    if (objective_.target && !wish.empty())
      message += fmt::format("; the target of {} is {}", wish, met ? "met" : "not met by any policy");
    if (!f64().certified) message += "; f64 itself ended without a certificate";
    return {index, met, std::move(message)};
  }

  PolicyChoice speed() const {
    const std::size_t best = fastest(candidates_);
    const bool met = !objective_.target || speed_of(best) >= *objective_.target;
    return choice(best, met, fmt::format("{:.2f} times the speed of f64", speed_of(best)),
                  fmt::format("{:g}", objective_.target.value_or(0)));
  }

  PolicyChoice memory() const {
    std::size_t least = std::numeric_limits<std::size_t>::max();
    for (const std::size_t i : candidates_) least = std::min(least, all_[i].peak_bytes);
    std::vector<std::size_t> smallest;
    std::ranges::copy_if(candidates_, std::back_inserter(smallest),
                         [&](std::size_t i) { return all_[i].peak_bytes == least; });
    const std::size_t best = fastest(smallest);
    const bool met = !objective_.target || memory_of(best) <= *objective_.target;
    return choice(best, met, fmt::format("{:.2f} of f64's peak memory", memory_of(best)),
                  fmt::format("{:g}", objective_.target.value_or(0)));
  }

  PolicyChoice accuracy() const {
    const double wanted = objective_.target.value_or(kUsualDigits);
    std::vector<std::size_t> exact;
    std::ranges::copy_if(candidates_, std::back_inserter(exact),
                         [&](std::size_t i) { return all_[i].digits >= wanted; });
    const bool met = !exact.empty();
    const std::size_t best = met ? fastest(exact) : f64_;
    return choice(best, met,
                  fmt::format("{:.1f} digits in common with f64, and {:.2f} times its speed",
                              all_[best].digits, speed_of(best)),
                  fmt::format("{:g}", wanted));
  }

  PolicyChoice balanced() const {
    double most = 0, least = std::numeric_limits<double>::infinity();
    for (const std::size_t i : candidates_) {
      most = std::max(most, speed_of(i));
      least = std::min(least, memory_of(i));
    }
    const auto score = [&](std::size_t i) {
      const double share = memory_of(i) > 0 ? least / memory_of(i) : 1;
      return objective_.weights[0] * speed_of(i) / most + objective_.weights[1] * share +
             objective_.weights[2] * all_[i].digits / kAllDigits;
    };
    double top = 0;
    for (const std::size_t i : candidates_) top = std::max(top, score(i));
    const std::size_t best =
        *std::ranges::find_if(candidates_, [&](std::size_t i) { return score(i) * kSameTime >= top; });
    return choice(best, true,
                  fmt::format("the best balance ({:.3f}): {:.2f} times f64's speed, {:.2f} of its memory, "
                              "{:.1f} digits in common",
                              score(best), speed_of(best), memory_of(best), all_[best].digits),
                  {});
  }

  std::span<const PolicyMeasurement> all_;
  const PrecisionObjective& objective_;
  std::size_t f64_ = 0;
  std::vector<std::size_t> candidates_;
};

}  // namespace

const char* name(Objective objective) noexcept {
  static constexpr const char* kNames[] = {"speed", "memory", "accuracy", "balanced"};
  return name_in<Objective::balanced>(kNames, objective);
}

PrecisionObjective PrecisionObjective::parse(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view word = trimmed(text.substr(0, colon));
  PrecisionObjective result;
  const auto known = std::ranges::find_if(kObjectives, [&](Objective o) { return word == nlsq::name(o); });
  if (known == kObjectives.end()) refuse(text, kUseObjective);
  result.objective = *known;
  if (colon == std::string_view::npos) return result;
  const std::string_view given = trimmed(text.substr(colon + 1));
  if (result.objective == Objective::balanced) read_weights(text, given, result.weights);
  else result.target = read_target(text, given, result.objective);
  return result;
}

std::string PrecisionObjective::to_string() const {
  if (objective == Objective::balanced)
    return fmt::format("balanced:{:g},{:g},{:g}", weights[0], weights[1], weights[2]);
  return target ? fmt::format("{}:{:g}", nlsq::name(objective), *target) : nlsq::name(objective);
}

PolicyChoice choose_policy(std::span<const PolicyMeasurement> measured, const PrecisionObjective& objective) {
  return Chooser(measured, objective).choose();
}

}  // namespace nlsq::inline v0
