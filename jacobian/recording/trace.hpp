// Records callables: merges calls with concrete values into one graph that contains every branch seen so far.
// The row evaluators use it.
//
//  A comparison on Traced returns the actual bool and records a guard. Recordings of one callable share a
//  prefix until the answer of a guard differs; there they are merged into a `select` node over the guard. A
//  branch that no row has taken is an `unexplored` node, which is NaN. All rows thus run one program, and
//  every evaluation checks the guards in every lane. A row that reaches an unexplored branch gives NaN; it is
//  then recorded, and the program is rebuilt. A formula's if(c,a,b) and a callable's `c ? a : b` become the
//  same graph.
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

struct Recording;  // tape.hpp

class NLSQ_API TraceFamily {
 public:
  TraceFamily(ModelFunction function, int parameters, TraceLimits limits = {});

  enum class Outcome : std::uint8_t {
    added,   // a new variant
    known,   // this row's path was recorded before
    opaque,  // cannot be recorded: `reason()` says why
  };
  // Records the callable at one row, and a second time if its path is new. A callable whose operations or
  // constants change from call to call is opaque, and stays opaque. Exceptions of the callable pass through.
  // Records on this thread only.
  Outcome record(std::span<const double> x, std::span<const double> p);

  // Builds the merged graph and returns its root in `graph`. It has columns 0..predictors-1 and parameters
  // 0..n-1.
  NodeId build(Graph& graph) const;
  // Builds a graph that is 1 where a row's path has been recorded, and 0 where it reaches an unexplored node.
  // Both functions throw Error if nothing has been recorded or the callable is opaque.
  NodeId build_explored(Graph& graph) const;
  const std::string& reason() const { return reason_; }
  std::size_t variants() const { return variants_.size(); }

 private:
  Outcome give_up(std::string reason);
  Recording run(std::span<const double> x, std::span<const double> p) const;
  void require_recording() const;

  ModelFunction function_;
  int parameters_;
  TraceLimits limits_;
  std::string reason_;
  std::vector<std::shared_ptr<const Recording>> variants_;
};

// Returns a first-order bound of the terms that may have cancelled in `value`, whose derivatives at `p` are
// `slopes`.
double size_of_terms(double value, std::span<const double> slopes, std::span<const double> p);

// Returns true for differences up to 1e-9 relative to the numbers, plus the rounding of cancelled terms,
// which are of the given size, plus the rounding of the graph's operations, if it is known.
bool agree(double graph, double dual, double size, double rounding = 0);

// Compares a graph's value and derivatives (one node for each parameter, in order) at one point with the
// user's callable, in double, and on dual numbers if the callable is generic. Differences up to 1e-9 relative
// to the numbers, including the rounding of cancelled terms, count as agreement. Where dual numbers give NaN
// (0·∞) the graph may give anything. Returns false if the branch taken at the point has not been recorded.
NLSQ_API bool agrees_with_dual(const Graph& graph, NodeId value, std::span<const NodeId> derivatives,
                               const ModelFunction& function, std::span<const double> x,
                               std::span<const double> p);

// Residuals that share one expression with different constants.
struct RolledGroup {
  Graph graph;
  NodeId root = 0;
  std::vector<std::vector<double>> columns;  // column c of the graph, one value for each row
  std::vector<std::size_t> residuals;        // the residual number of each row, ascending
};

// Holds a vector function, recorded as a whole and grouped into a few row programs.
struct RolledTrace {
  std::vector<RolledGroup> groups;
  std::size_t residuals = 0;
  std::string reason;  // why the function could not be grouped; empty if it could
  bool opaque() const { return !reason.empty(); }
};

struct RollLimits {
  std::size_t max_length = 4000000;     // largest number of operations of one call
  std::size_t max_row_length = 100000;  // largest number of operations of one residual
  std::size_t max_groups = 64;  // largest number of different expressions; above it, dual numbers are as fast
};

// Records `function` at p, twice to check that it repeats, and groups its residuals by structure. Constants
// are identified by their position, never by value. A constant with the same value in all rows of a group
// stays a constant. The others become columns; those with equal values share one. A function that branches on
// its parameters is opaque.
NLSQ_API RolledTrace roll(const VectorFunction& function, std::span<const double> p,
                          const RollLimits& limits = {});

// Makes the same check for a RolledTrace at p. It compares the values of all residuals, and the derivatives
// of up to `sample` of them, spread over all groups.
NLSQ_API bool agrees_with_dual(const RolledTrace& rolled, const VectorFunction& function,
                               std::span<const double> p, std::size_t sample = 256);

}  // namespace nlsq::inline v0
