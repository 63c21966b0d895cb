// What one call of a callable on Traced numbers leaves behind.
#pragma once

#include <nlsq/traced.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

// One operation, or a leaf. Operands are step numbers; step 0 is not used, since node 0 means "plain
// constant". A constant is a step of its own at every occurrence.
struct TapeStep {
  Op op = Op::constant;
  std::uint32_t a = 0, b = 0, c = 0;  // operands; for column and parameter, `a` is the index
  double value = 0;                   // of a constant; the value at recording otherwise
};

// The same operation on the same operands; concrete values are compared for constants only.
inline bool same_step(const TapeStep& s, const TapeStep& t) {
  return s.op == t.op && s.a == t.a && s.b == t.b && s.c == t.c &&
         (s.op != Op::constant ||
          std::bit_cast<std::uint64_t>(s.value) == std::bit_cast<std::uint64_t>(t.value));
}

// The concrete answer a comparison gave. `position`: steps recorded by then.
struct TapeGuard {
  std::uint32_t condition = 0;
  std::uint32_t position = 0;
  bool outcome = false;
};

class Tape {
 public:
  static constexpr const char* kChanges = "its operations or constants change between calls";

  Tape(std::size_t max_length, std::size_t max_guards);
  // Follows a recording instead of making one: every operation is compared with the recording's, and what
  // stays are the constants met, `constants` (as many as the recording has constant steps), and whether the
  // calls did the same.
  Tape(std::span<const TapeStep> steps, std::span<const TapeGuard> guards, double* constants);

  Traced column(std::uint32_t index, double value) { return leaf(Op::column, index, value); }
  Traced parameter(std::uint32_t index, double value) { return leaf(Op::parameter, index, value); }
  // The step of a value the callable returned; a constant gets a step. 0 when the tape is opaque.
  std::uint32_t step_of(const Traced& value);

  std::vector<TapeStep> take_steps() { return std::move(steps_); }  // ends the recording
  const std::vector<TapeGuard>& guards() const { return guards_; }
  bool opaque() const { return !reason_.empty(); }
  const std::string& reason() const { return reason_; }
  // Of a tape that follows: every operation up to the recording's last was the same, decisions too.
  bool followed() const {
    return !opaque() && !departed_ && position_ == path_.size() && next_guard_ == path_guards_.size();
  }
  // The first reason given stays.
  void make_opaque(std::string reason);

  // The number itself. What records on this thread becomes opaque, for this reason, unless the number is a
  // constant.
  static double let_out(const Traced& number, const char* reason);

  // The tape that records on this thread, or null.
  static Tape* active();

 private:
  friend class Traced;
  friend class Recorder;
  friend Traced record_op(Op op, const Traced& a, const Traced& b, const Traced& c);

  Traced leaf(Op op, std::uint32_t index, double value);
  Traced record(Op op, const Traced (&operands)[3], double value);
  void add_guard(const Traced& condition);
  std::uint32_t push(const TapeStep& step);
  bool follows() const { return !path_.empty(); }
  std::uint32_t follow(const TapeStep& step);
  Traced follow(Op op, const Traced& a, const Traced& b, const Traced& c, double value);

  std::size_t max_length_, max_guards_;
  std::uint32_t serial_;            // of this tape: numbers of another are recognised
  std::span<const TapeStep> path_;  // followed; empty while recording
  std::span<const TapeGuard> path_guards_;
  double* constants_ = nullptr;
  std::size_t position_ = 0, next_guard_ = 0;  // in the path
  bool departed_ = false;
  std::vector<TapeStep> steps_;
  std::vector<TapeGuard> guards_;
  std::string reason_;
};

// Makes a tape the one that records on this thread, until the end of the scope; recordings nest (a
// solve inside a callable), and an exception leaves nothing behind.
class Recorder {
 public:
  explicit Recorder(Tape& tape);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

 private:
  Tape* outer_;
};

}  // namespace nlsq::inline v0
