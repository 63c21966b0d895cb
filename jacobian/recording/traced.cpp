// Records the operations of Traced numbers on the active tape, or compares them with a recording.
#include <nlsq/let_out.hpp>
#include <nlsq/traced.hpp>

#include "recording/tape.hpp"

#include <atomic>
#include <utility>

namespace nlsq::inline v0 {

namespace {

// The node of a number that depends on recorded ones but has no step of its own, because nothing records, or
// the recording was discarded. It is not a constant and belongs to no tape.
constexpr std::uint32_t kLost = 0xffffffffU;

thread_local Tape* active_tape = nullptr;
std::atomic<std::uint32_t> next_serial{1};

}  // namespace

Tape::Tape(std::size_t max_length, std::size_t max_guards)
    : max_length_(max_length), max_guards_(max_guards), serial_(next_serial.fetch_add(1)), steps_(1) {}

Tape::Tape(std::span<const TapeStep> steps, std::span<const TapeGuard> guards, double* constants)
    : max_length_(steps.size()), max_guards_(guards.size()), serial_(next_serial.fetch_add(1)), path_(steps),
      path_guards_(guards), constants_(constants), position_(1) {}

void Tape::make_opaque(std::string reason) {
  if (reason_.empty()) reason_ = std::move(reason);
}

// Returns the number of the recording's next step if `step` equals it. After a difference it
// returns kLost. Values are still computed, so that the call ends normally.
std::uint32_t Tape::follow(const TapeStep& step) {
  if (departed_ || position_ >= path_.size()) {
    departed_ = true;
    return kLost;
  }
  const TapeStep& known = path_[position_];
  departed_ = known.op != step.op || known.a != step.a || known.b != step.b || known.c != step.c;
  if (step.op == Op::constant && !departed_) *constants_++ = step.value;
  return static_cast<std::uint32_t>(position_++);
}

// Returns true if the recording's next step is this operation on these operands. That is the most frequent
// case, so the operands are compared without building a step.
bool Tape::follows(Op op, const Traced& a, const Traced& b, const Traced& c) const {
  if (position_ >= path_.size()) return false;
  // Step 0 is a missing operand, or a plain constant that is not yet a step of the path.
  const auto known_as = [this](const Traced& operand, std::uint32_t step) {
    return operand.node_ == step && (step == 0 || (operand.tape_ == serial_ && step < position_));
  };
  const TapeStep& known = path_[position_];
  return known.op == op && known_as(a, known.a) && known_as(b, known.b) && known_as(c, known.c);
}

std::uint32_t Tape::push(const TapeStep& step) {
  if (!path_.empty()) return follow(step);
  if (steps_.size() > max_length_) {
    make_opaque("it takes more than " + std::to_string(max_length_) + " operations");
    return kLost;
  }
  steps_.push_back(step);
  return static_cast<std::uint32_t>(steps_.size() - 1);
}

Traced Tape::leaf(Op op, std::uint32_t index, double value) {
  Traced result(value);
  result.node_ = push({.op = op, .a = index, .value = value});
  result.tape_ = serial_;
  return result;
}

Traced Tape::record(Op op, const Traced& a, const Traced& b, const Traced& c, double value) {
  Traced result(value);
  result.node_ = kLost;
  result.tape_ = serial_;
  if (opaque() || departed_) return result;
  if (follows(op, a, b, c)) {
    result.node_ = static_cast<std::uint32_t>(position_++);
    return result;
  }
  const Traced* const operands[] = {&a, &b, &c};
  TapeStep step{.op = op, .value = value};
  std::uint32_t* const places[] = {&step.a, &step.b, &step.c};
  for (int i = 0; i < arity(op); ++i) *places[i] = step_of(*operands[i]);
  if (!opaque() && !departed_) result.node_ = push(step);
  return result;
}

std::uint32_t Tape::step_of(const Traced& value) {
  if (opaque() || departed_) return 0;
  if (value.node_ == 0) return push({.op = Op::constant, .value = value.value_});
  if (value.tape_ != serial_ || value.node_ >= (path_.empty() ? steps_.size() : position_)) {
    make_opaque("it keeps a number from one call to another, or from one thread to another");
    return 0;
  }
  return value.node_;
}

void Tape::add_guard(const Traced& condition) {
  if (opaque() || departed_) return;
  if (!path_.empty()) {
    departed_ = next_guard_ >= path_guards_.size() ||
                path_guards_[next_guard_].condition != condition.node_ ||
                path_guards_[next_guard_].position != position_ ||
                path_guards_[next_guard_].outcome != (condition.value_ != 0);
    ++next_guard_;
    return;
  }
  if (guards_.size() >= max_guards_) {
    make_opaque("it takes more than " + std::to_string(max_guards_) + " decisions in one call");
    return;
  }
  guards_.push_back({condition.node_, static_cast<std::uint32_t>(steps_.size()), condition.value_ != 0});
}

Recording Tape::finish(std::span<const Traced> results) {
  Recording made;
  for (const Traced& result : results) made.outputs.push_back(step_of(result));
  made.reason = std::move(reason_);
  made.guards = std::move(guards_);
  made.steps = std::move(steps_);
  return made;
}

Recorder::Recorder(Tape& tape) : outer_(std::exchange(active_tape, &tape)) {}
Recorder::~Recorder() { active_tape = outer_; }

double Traced::value() const {
  return Tape::let_out(*this, "it turns a number that depends on its arguments into a plain one");
}

double Tape::let_out(const Traced& number, const char* reason) {
  if (number.node_ != 0 && active_tape != nullptr) active_tape->make_opaque(reason);
  return number.value_;
}

double let_out(const Traced& number, const char* reason) { return Tape::let_out(number, reason); }

double Traced::derivative(int) const {
  Tape::let_out(*this, "it reads derivatives");
  return 0;
}

namespace {

// Computes the most frequent operations of recorded code inline.
inline double value_of_op(Op op, double a, double b, double c) {
  switch (op) {
    case Op::add: return a + b;
    case Op::sub: return a - b;
    case Op::mul: return a * b;
    case Op::div: return a / b;
    default: return evaluate_op(op, a, b, c);
  }
}

}  // namespace

Traced record_op(Op op, const Traced& a, const Traced& b, const Traced& c) {
  const double value = value_of_op(op, a.value_, b.value_, c.value_);
  if ((a.node_ | b.node_ | c.node_) == 0) return Traced(value);
  if (active_tape != nullptr) return active_tape->record(op, a, b, c, value);
  Traced result(value);
  result.node_ = kLost;
  return result;
}

Traced Traced::record(Op op, const Traced& a, const Traced& b, const Traced& c) {
  return record_op(op, a, b, c);
}

bool Traced::guard(Op comparison, const Traced& a, const Traced& b) {
  const Traced truth = record_op(comparison, a, b);
  if (truth.node_ != 0 && active_tape != nullptr) active_tape->add_guard(truth);
  return truth.value_ != 0;
}

// Returns a if b is NaN or a is the smaller number (the greater one if `smaller` is false), else b. If one
// operand is a constant, it takes the place that is not tested for NaN.
Traced Traced::pick_number(const Traced& a, const Traced& b, bool smaller) {
  if (a.is_number() && !b.is_number()) return pick_number(b, a, smaller);
  const Traced wins = smaller ? record(Op::less, a, b) : record(Op::less, b, a);
  if (b.is_number()) return select(wins, a, b);
  const Traced b_is_number = record(Op::less_equal, b, infinity());
  return select(record(Op::logical_or, wins, record(Op::logical_not, b_is_number)), a, b);
}

// Returns 1 if the sign bit is set: x < 0, or -0, which has a reciprocal below 0. The graph does not
// represent the sign of a NaN.
Traced Traced::sign_bit(const Traced& a) {
  if (a.node_ == 0) return Traced(std::signbit(a.value_) ? 1.0 : 0.0);
  const Traced zero(0.0);
  return record(Op::logical_or, record(Op::less, a, zero),
                record(Op::less, record(Op::div, Traced(1.0), a), zero));
}

}  // namespace nlsq::inline v0
