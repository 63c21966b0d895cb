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

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

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
  // Records the callable at one row, twice where its path is new: a callable whose operations or
  // constants change from call to call is opaque. Once opaque, always opaque. A callable that throws
  // is rethrown. Records on this thread only.
  Outcome record(std::span<const double> x, std::span<const double> p);

  // The merged graph's root in `graph`; columns 0..predictors-1, parameters 0..n-1.
  NodeId build(Graph& graph) const;
  // 1 where a row's path has been recorded, 0 where it runs into an unexplored node.
  // Both throw Error when nothing has been recorded or the callable is opaque.
  NodeId build_explored(Graph& graph) const;
  const std::string& reason() const { return reason_; }
  std::size_t variants() const { return variants_.size(); }

 private:
  struct Variant;  // a tape: steps, guards with outcomes, result
  Outcome give_up(std::string reason);
  Variant run(std::span<const double> x, std::span<const double> p) const;

  ModelFunction function_;
  int parameters_;
  TraceLimits limits_;
  std::string reason_;
  std::vector<std::shared_ptr<const Variant>> variants_;
};

// Whether the graph's value and derivatives (one node a parameter, in order) at one point are those of
// the user's callable: in double, and on dual numbers where it is generic. Differences up to 1e-9 of the
// numbers' size, rounding of cancelled terms included, are agreement; where dual numbers say NaN (0·∞)
// the graph may say anything. False where the point's branch has not been recorded.
NLSQ_API bool agrees_with_dual(const Graph& graph, NodeId value, std::span<const NodeId> derivatives,
                               const ModelFunction& function, std::span<const double> x,
                               std::span<const double> p);

// Residuals that are one expression with different numbers in it.
struct RolledGroup {
  Graph graph;
  NodeId root = 0;
  std::vector<std::vector<double>> columns;  // column c of the graph, one value a row
  std::vector<std::size_t> residuals;        // which residual each row is, ascending
};

// A vector function recorded as a whole and rolled up into few row programs.
struct RolledTrace {
  std::vector<RolledGroup> groups;
  std::size_t residuals = 0;
  std::string reason;  // why the function could not be rolled up; empty where it could
  bool opaque() const { return !reason.empty(); }
};

struct RollLimits {
  std::size_t max_length = 4000000;     // operations of one call
  std::size_t max_row_length = 100000;  // operations of one residual
  std::size_t max_groups = 64;          // different expressions; beyond, dual numbers are as good
};

// Records `function` at p (twice, to see that it does the same) and groups its residuals by
// structure. Constants are told apart by where they occur, never by value: those that are the same
// in all rows of a group stay constants, the others become columns (one for all places that hold the
// same numbers). A function that takes decisions on its parameters is opaque.
NLSQ_API RolledTrace roll(const VectorFunction& function, std::span<const double> p,
                          const RollLimits& limits = {});

// The same question for what roll() made: values of all residuals, and the derivatives of up to
// `sample` of them spread over all groups, at p.
NLSQ_API bool agrees_with_dual(const RolledTrace& rolled, const VectorFunction& function,
                               std::span<const double> p, std::size_t sample = 256);

}  // namespace nlsq::inline v0
