// Recording callables: from calls with concrete values to one graph that holds every branch met.
//
// A comparison on Traced returns the concrete bool and records a guard. Recordings of one callable
// that share a prefix and differ in a guard's outcome are merged into `select` nodes over the guard;
// a branch no row has taken is an `unexplored` node, which is NaN. So all rows run one program, a
// guard is checked in every lane at every evaluation, and a row that meets an unexplored branch
// shows itself as NaN: it is recorded then, and the program rebuilt. A formula's if(c,a,b) and a
// callable's `c ? a : b` become the same graph.
#pragma once

#include <nlsq/callable.hpp>
#include <nlsq/graph.hpp>

#include <string>

namespace nlsq::inline v0 {

struct TraceLimits {
  std::size_t max_guards = 64, max_variants = 8, max_length = 100000;
};

class NLSQ_API TraceFamily {
 public:
  TraceFamily(ModelFunction function, int parameters, TraceLimits limits = {});

  enum class Outcome : std::uint8_t {
    added,   // a new variant
    known,   // this row's path is already there
    opaque,  // cannot be recorded: `reason()` says why
  };
  // Records the callable at one row. A callable that throws is rethrown.
  Outcome record(std::span<const double> x, std::span<const double> p);

  // The merged graph's root in `graph`; columns 0..predictors-1, parameters 0..n-1.
  NodeId build(Graph& graph) const;
  // 1 where a row's path has been recorded, 0 where it runs into an unexplored node.
  NodeId build_explored(Graph& graph) const;
  const std::string& reason() const { return reason_; }
  std::size_t variants() const { return variants_.size(); }

 private:
  struct Variant;  // a tape: steps, guards with outcomes, result
  ModelFunction function_;
  int parameters_;
  TraceLimits limits_;
  std::string reason_;
  std::vector<std::shared_ptr<const Variant>> variants_;
};

}  // namespace nlsq::inline v0
