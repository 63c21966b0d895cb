// Records and replays the functions of residual blocks.
#include "blocks/block_trace.hpp"

#include "expression/rounding.hpp"

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

void bound_rounding(const BlockRecording& recording, const double* x, std::span<const double> constants,
                    double* bounds, double most) {
  std::vector<RoundedNumber> numbers(recording.steps.size());
  // The largest of this number and of all from which it was computed.
  std::vector<double> largest(numbers.size(), 0.0);
  std::size_t constant = 0;
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    const TapeStep& step = recording.steps[i];
    switch (step.op) {
      case Op::constant: numbers[i].value = constants[constant++]; break;
      case Op::column: numbers[i].value = x[step.a]; break;
      default:
        numbers[i] = rounded(step.op, numbers[step.a], numbers[step.b], numbers[step.c]);
        largest[i] = std::max({largest[step.a], largest[step.b], largest[step.c]});
    }
    largest[i] = std::max(largest[i], std::fabs(numbers[i].value));
  }
  for (std::size_t i = 0; i < recording.outputs.size(); ++i) {
    const std::uint32_t output = recording.outputs[i];
    bounds[i] = std::min(numbers[output].bound, most * 0x1p-53 * largest[output]);
  }
}

bool BlockReplay::call(Tape& tape, const BlockFunction& function, const double* x) {
  inputs_.clear();
  for (std::size_t j = 0; j < caller_.inputs(); ++j)
    inputs_.push_back(tape.column(static_cast<std::uint32_t>(j), x[j]));
  results_.assign(static_cast<std::size_t>(function.residuals()), Traced());
  const Recorder recorder(tape);
  return caller_.trace(function, inputs_.data(), results_.data());
}

BlockRecording BlockReplay::record(const BlockFunction& function, const double* x,
                                   const TraceLimits& limits) {
  Tape tape(limits.max_length, limits.max_guards);
  BlockRecording made;
  made.success = call(tape, function, x);
  if (!made.success) results_.clear();
  static_cast<Recording&>(made) = tape.finish(results_);
  made.constants = static_cast<std::size_t>(
      std::ranges::count(made.steps.begin() + 1, made.steps.end(), Op::constant, &TapeStep::op));
  return made;
}

bool BlockReplay::follow(const BlockRecording& recording, const BlockFunction& function, const double* x,
                         double* constants) {
  Tape tape(recording.steps, recording.guards, constants);
  if (call(tape, function, x) != recording.success) return false;
  for (std::size_t i = 0; i < recording.outputs.size(); ++i) {
    if (tape.step_of(results_[i]) != recording.outputs[i]) return false;
  }
  return tape.followed();
}

std::optional<std::size_t> BlockReplay::find(std::span<const BlockRecording> recordings, std::size_t first,
                                             const BlockFunction& function, const double* x,
                                             std::vector<double>& constants) {
  for (std::size_t k = 0; k < recordings.size(); ++k) {
    const std::size_t number = (first + k) % recordings.size();
    constants.resize(recordings[number].constants);
    if (follow(recordings[number], function, x, constants.data())) return number;
  }
  return std::nullopt;
}

bool BlockReplay::bound(const BlockFunction& function, const double* x, double* bounds, double most) {
  const BlockRecording made = record(function, x, {});
  if (!made.success || !made.reason.empty()) return false;
  std::vector<double> constants;
  for (std::size_t i = 1; i < made.steps.size(); ++i) {
    if (made.steps[i].op == Op::constant) constants.push_back(made.steps[i].value);
  }
  bound_rounding(made, x, constants, bounds, most);
  return true;
}

void BlockFamily::keep_only(std::span<const std::uint8_t> marked) {
  std::size_t kept = 0;
  for (std::size_t k = 0; k < recordings_.size(); ++k) {
    if (!marked[k]) continue;
    if (kept != k) recordings_[kept] = std::move(recordings_[k]);
    ++kept;
  }
  recordings_.resize(kept);
  latest_ = 0;
}

int BlockFamily::follow(const BlockFunction& function, const double* x, std::vector<double>& constants) {
  if (const auto known = replay_.find(recordings_, latest_, function, x, constants)) {
    latest_ = *known;
    return static_cast<int>(latest_);
  }
  if (recordings_.size() >= limits_.max_variants) {
    reason_ = "it takes more than " + std::to_string(limits_.max_variants) + " different paths";
    return kNone;
  }
  BlockRecording made = replay_.record(function, x, limits_);
  constants.resize(made.constants);
  if (made.reason.empty() && !replay_.follow(made, function, x, constants.data()))
    made.reason = Tape::kChanges;
  std::size_t next = 0;  // a constant that changes from call to call makes the recording invalid
  for (const TapeStep& step : std::span(made.steps).subspan(1)) {
    if (!made.reason.empty() || step.op != Op::constant) continue;
    if (!same_bits(step.value, constants[next++])) made.reason = Tape::kChanges;
  }
  if (!made.reason.empty()) {
    reason_ = made.reason;
    return kNone;
  }
  recordings_.push_back(std::move(made));
  latest_ = recordings_.size() - 1;
  return static_cast<int>(latest_);
}

}  // namespace nlsq::inline v0
