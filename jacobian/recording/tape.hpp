// A tape holds the operations that one call of a callable on Traced numbers recorded. Recording of rows and
// of residual blocks uses it.
#pragma once

#include <nlsq/graph.hpp>
#include <nlsq/traced.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

inline bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

// This is one operation, or a leaf. Operands are step numbers. Step 0 is unused, because node 0 means "plain
// constant". A constant is a new step at every occurrence.
struct TapeStep {
  Op op = Op::constant;
  std::uint32_t a = 0, b = 0, c = 0;  // operands; for column and parameter, `a` is the index
  double value = 0;                   // of a constant; for other steps the value at recording
};

// Returns true for the same operation on the same operands. Values are compared for constants only.
inline bool same_step(const TapeStep& s, const TapeStep& t) {
  return s.op == t.op && s.a == t.a && s.b == t.b && s.c == t.c &&
         (s.op != Op::constant || same_bits(s.value, t.value));
}

// Converts the steps from number `first` on to nodes of a graph, which simplifies and shares them. `constant`
// returns the node of a constant step.
std::vector<NodeId> replay(Graph& graph, std::span<const TapeStep> steps, std::size_t first, auto constant) {
  std::vector<NodeId> nodes(steps.size(), 0);
  for (std::size_t i = first; i < steps.size(); ++i) {
    const TapeStep& step = steps[i];
    switch (step.op) {
      case Op::constant: nodes[i] = constant(step); break;
      case Op::column: nodes[i] = graph.column(static_cast<int>(step.a)); break;
      case Op::parameter: nodes[i] = graph.parameter(static_cast<int>(step.a)); break;
      default: nodes[i] = graph.make(step.op, nodes[step.a], nodes[step.b], nodes[step.c]);
    }
  }
  return nodes;
}

// Holds the answer that a comparison gave. `position` is the number of steps recorded before it.
struct TapeGuard {
  std::uint32_t condition = 0;
  std::uint32_t position = 0;
  bool outcome = false;
};

// Holds the operations and guards that a tape has recorded.
struct Recording {
  std::vector<TapeStep> steps;
  std::vector<TapeGuard> guards;
  std::vector<std::uint32_t> outputs;  // the steps that compute the results of the call
  std::string reason;                  // why it cannot be used; empty if it can
};

enum class TapeRelation : std::uint8_t { same, other_branch, changed };

// Compares two recordings of one callable. They are equal until a guard has a different answer.
TapeRelation compare(const Recording& s, const Recording& t);

class Tape {
 public:
  static constexpr const char* kChanges = "its operations or constants change between calls";

  Tape(std::size_t max_length, std::size_t max_guards);
  // Compares operations with those of a recording instead of making one. It writes the constants that it
  // finds to `constants` (one for each constant step). followed() states whether all operations were the
  // same.
  Tape(std::span<const TapeStep> steps, std::span<const TapeGuard> guards, double* constants);

  Traced column(std::uint32_t index, double value) { return leaf(Op::column, index, value); }
  Traced parameter(std::uint32_t index, double value) { return leaf(Op::parameter, index, value); }
  // Returns the step of a value that the callable returned; a constant gets a new step. Returns 0 if the tape
  // is opaque.
  std::uint32_t step_of(const Traced& value);

  // Ends the recording of a call that returned these results.
  Recording finish(std::span<const Traced> results);
  bool opaque() const { return !reason_.empty(); }
  // Returns true, for a tape that compares with a recording, if every operation was the same to the end,
  // branches included.
  bool followed() const {
    return !opaque() && !departed_ && position_ == path_.size() && next_guard_ == path_guards_.size();
  }
  // Discards the recording. Only the first reason is kept.
  void make_opaque(std::string reason);

  // Returns the plain number. Unless it is a constant, the tape that records on this thread becomes opaque
  // for this reason.
  static double let_out(const Traced& number, const char* reason);

 private:
  friend class Traced;
  friend class Recorder;
  friend Traced record_op(Op op, const Traced& a, const Traced& b, const Traced& c);

  Traced leaf(Op op, std::uint32_t index, double value);
  Traced record(Op op, const Traced& a, const Traced& b, const Traced& c, double value);
  void add_guard(const Traced& condition);
  std::uint32_t push(const TapeStep& step);
  std::uint32_t follow(const TapeStep& step);
  bool follows(Op op, const Traced& a, const Traced& b, const Traced& c) const;

  std::size_t max_length_, max_guards_;
  std::uint32_t serial_;            // identifies this tape, so that numbers of another tape are recognized
  std::span<const TapeStep> path_;  // the recording that is followed; empty while recording
  std::span<const TapeGuard> path_guards_;
  double* constants_ = nullptr;
  std::size_t position_ = 0, next_guard_ = 0;  // positions in the recording that is followed
  bool departed_ = false;
  std::vector<TapeStep> steps_;
  std::vector<TapeGuard> guards_;
  std::string reason_;
};

// Makes a tape record on this thread until the end of the scope. Recordings nest, for a solve inside a
// callable, and an exception leaves no state behind.
class Recorder {
 public:
  explicit Recorder(Tape& tape);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

 private:
  Tape* outer_;
};

inline bool all_equal(std::span<const double> column) {
  return std::ranges::all_of(column, [&](double v) { return same_bits(v, column.front()); });
}

// Recognizes columns of constants that are equal bit for bit.
class EqualColumns {
 public:
  // Returns the number of the column that equals `column`, and whether it is a new one. `known(k)` returns
  // the k-th new column.
  std::pair<int, bool> number(std::span<const double> column, const auto& known) {
    std::uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a over whole numbers
    for (const double v : column) hash = (hash ^ std::bit_cast<std::uint64_t>(v)) * 0x100000001b3ULL;
    const auto [first, last] = numbers_.equal_range(hash);
    const auto place = std::find_if(
        first, last, [&](const auto& k) { return std::ranges::equal(column, known(k.second), same_bits); });
    if (place != last) return {place->second, false};
    return {numbers_.emplace(hash, static_cast<int>(numbers_.size()))->second, true};
  }

 private:
  std::unordered_multimap<std::uint64_t, int> numbers_;
};

}  // namespace nlsq::inline v0
