// Groups the residuals of one recorded call by the structure of their expressions, so that each group becomes
// one row program.
#include "recording/trace.hpp"

#include "expression/graph_walk.hpp"
#include "recording/tape.hpp"

#include <algorithm>
#include <map>

namespace nlsq::inline v0 {

namespace {

Recording record(const VectorFunction& function, std::span<const double> p, const RollLimits& limits) {
  Tape tape(limits.max_length, limits.max_length);
  std::vector<Traced> parameters;
  for (std::size_t j = 0; j < p.size(); ++j)
    parameters.push_back(tape.parameter(static_cast<std::uint32_t>(j), p[j]));
  const Recorder recorder(tape);
  Recording made = tape.finish(function.trace(parameters));
  if (made.reason.empty() && !made.guards.empty())
    made.reason = "it takes decisions that depend on its parameters";
  return made;
}

// Holds the steps of one residual, renumbered from 0 in the order of recording.
class Expressions {
 public:
  explicit Expressions(const std::vector<TapeStep>& steps)
      : steps_(steps), local_(steps.size()), seen_(steps.size(), 0) {}

  // Collects step numbers in ascending order. Returns false if there are more than `limit`.
  bool collect(std::uint32_t output, std::size_t limit) {
    ++stamp_;
    members_.clear();
    visit(output);
    for (std::size_t next = 0; next < members_.size(); ++next) {
      for (const std::uint32_t operand : Operands(steps_[members_[next]])) visit(operand);
      if (members_.size() > limit) return false;
    }
    std::sort(members_.begin(), members_.end());
    for (std::size_t i = 0; i < members_.size(); ++i) local_[members_[i]] = static_cast<std::uint32_t>(i);
    return true;
  }

  const std::vector<std::uint32_t>& members() const { return members_; }

  // Returns everything that the residuals of a group share, which is all but the values of the constants.
  const std::vector<TapeStep>& structure() {
    structure_.clear();
    for (const std::uint32_t member : members_) {
      TapeStep step = steps_[member];
      step.value = 0;
      std::uint32_t* const operands[] = {&step.a, &step.b, &step.c};
      for (int i = 0; i < arity(step.op); ++i) *operands[i] = local_[*operands[i]];
      structure_.push_back(step);
    }
    return structure_;
  }

 private:
  void visit(std::uint32_t step) {
    if (seen_[step] == stamp_) return;
    seen_[step] = stamp_;
    members_.push_back(step);
  }

  const std::vector<TapeStep>& steps_;
  std::vector<std::uint32_t> local_, seen_, members_;
  std::vector<TapeStep> structure_;
  std::uint32_t stamp_ = 0;
};

struct StructureOrder {
  bool operator()(const std::vector<TapeStep>& a, const std::vector<TapeStep>& b) const {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                        [](const TapeStep& s, const TapeStep& t) {
                                          if (s.op != t.op) return s.op < t.op;
                                          if (s.a != t.a) return s.a < t.a;
                                          return s.b != t.b ? s.b < t.b : s.c < t.c;
                                        });
  }
};

// Holds the constants of a group. Each constant in the structure has one vector with a value for each row.
struct Gathered {
  std::vector<std::vector<double>> constants;
  std::vector<std::size_t> residuals;
};
using Groups = std::map<std::vector<TapeStep>, Gathered, StructureOrder>;

RolledGroup build_group(const std::vector<TapeStep>& structure, Gathered gathered) {
  RolledGroup group;
  group.residuals = std::move(gathered.residuals);
  EqualColumns columns;
  const auto constant = [&, k = std::size_t{0}](const TapeStep&) mutable {
    std::vector<double>& values = gathered.constants[k++];
    if (all_equal(values)) return group.graph.constant(values.front());
    const auto [column, added] = columns.number(
        values, [&](int k) -> const auto& { return group.columns[static_cast<std::size_t>(k)]; });
    if (added) group.columns.push_back(std::move(values));
    return group.graph.column(column);
  };
  group.root = replay(group.graph, structure, 0, constant).back();
  return group;
}

RolledTrace opaque(std::string reason) {
  RolledTrace result;
  result.reason = std::move(reason);
  return result;
}

}  // namespace

RolledTrace roll(const VectorFunction& function, std::span<const double> p, const RollLimits& limits) {
  if (!function.trace) return opaque("it is not generic in its scalar, or asks not to be recorded");
  const Recording recording = record(function, p, limits);
  if (!recording.reason.empty()) return opaque(recording.reason);
  if (compare(recording, record(function, p, limits)) != TapeRelation::same) return opaque(Tape::kChanges);

  Groups groups;
  auto latest = groups.end();  // the next residual is usually in the same group
  Expressions expressions(recording.steps);
  std::size_t work = 0;  // total steps; residuals that share one long computation would each repeat it
  for (std::size_t i = 0; i < recording.outputs.size(); ++i) {
    if (!expressions.collect(recording.outputs[i], limits.max_row_length) ||
        (work += expressions.members().size()) > 2 * limits.max_length) {
      return opaque("its residuals take more than " + std::to_string(limits.max_row_length) +
                    " operations each, or share most of them");
    }
    const std::vector<TapeStep>& structure = expressions.structure();
    if (latest == groups.end() || !std::ranges::equal(latest->first, structure, same_step)) {
      latest = groups.try_emplace(structure).first;
    }
    Gathered& group = latest->second;
    if (groups.size() > limits.max_groups) {
      return opaque("its residuals are more than " + std::to_string(limits.max_groups) +
                    " different expressions");
    }
    group.residuals.push_back(i);
    std::size_t constant = 0;
    for (const std::uint32_t member : expressions.members()) {
      if (recording.steps[member].op != Op::constant) continue;
      if (constant == group.constants.size()) group.constants.emplace_back();
      group.constants[constant++].push_back(recording.steps[member].value);
    }
  }

  RolledTrace result;
  result.residuals = recording.outputs.size();
  for (auto& [structure, gathered] : groups)
    result.groups.push_back(build_group(structure, std::move(gathered)));
  std::sort(result.groups.begin(), result.groups.end(), [](const RolledGroup& a, const RolledGroup& b) {
    return a.residuals.front() < b.residuals.front();
  });
  return result;
}

}  // namespace nlsq::inline v0
