// Sorts blocks into groups that run one program each. The block evaluator works on these groups.
#pragma once

#include "blocks/block_program.hpp"
#include "program/aligned_vector.hpp"

#include "blocks/block_evaluator.hpp"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

class ProgramSteps;  // machine_code/program_steps.hpp

// Blocks of one program; each block is one lane.
struct BlockGroup {
  std::shared_ptr<const BlockProgram> program;
  std::size_t kind = 0, variant = 0;  // the kind of block, and the recording among those of the kind
  std::uint32_t component = 0;
  bool wide = false;  // derivatives in f64, even if J is stored in f32
  std::size_t first_tile = 0, tiles = 0;
  std::vector<std::uint32_t> blocks;   // ascending
  std::size_t padded = 0;              // number of lanes, rounded up to whole tiles
  std::vector<std::uint32_t> offsets;  // offset in x of parameter block k of lane l: [k * padded + l]
  AlignedVector<double> constants;     // column c for lane l: [c * padded + l]
  std::size_t tile_rows = 64;
  std::vector<double> value_uniforms, jacobian_uniforms;
  std::vector<float> jacobian_uniforms_f32;
  std::shared_ptr<const ProgramSteps> value_f64, jacobian_f64, jacobian_f32;
};

// Holds blocks of one function type with the same parameter sizes.
struct BlockKind {
  const void* tag = nullptr;
  int residuals = 0;
  std::vector<int> sizes;
  BlockFamily family;
  int failures = 0;  // consecutive blocks that could not be recorded
};

inline std::size_t inputs_of(const BlockKind& kind) {
  std::size_t inputs = 0;
  for (const int size : kind.sizes) inputs += static_cast<std::size_t>(size);
  return inputs;
}

inline bool is_traced(const BlockFunction& function) {
  const BlockFunction::Derivatives by = function.derivatives_by();
  return by == BlockFunction::Derivatives::traced || by == BlockFunction::Derivatives::traced_own;
}

inline bool by_differences(const BlockFunction& function) {
  return function.derivatives_by() == BlockFunction::Derivatives::differences;
}

// Returns the value that the block in this lane has for constant c of its recording.
inline double constant_of(const BlockGroup& group, std::size_t c, std::size_t lane) {
  const ConstantPlan& plan = group.program->plan;
  if (plan.column[c] < 0) return plan.value[c];
  return group.constants.data()[static_cast<std::size_t>(plan.column[c]) * group.padded + lane];
}

struct BlockTile {
  // The value of a block that is in `slow` and not in a group.
  static constexpr std::uint32_t kSlow = 0xffffffffU;
  std::uint32_t group = 0, first = 0, count = 0;
};

struct BlockGroups {
  std::vector<BlockKind> kinds;
  std::vector<std::uint32_t> kind_of;  // the kind of each block; empty if all are of kind 0
  std::vector<BlockGroup> groups;
  std::vector<std::uint32_t> slow;  // blocks evaluated by the user's code, ascending
  std::vector<double> step_shares;  // one for each number of x, see block_step_shares()
  // The least size of each number of x for its steps of differences. It is empty if there are none.
  std::vector<double> least_sizes;
  // The first step of extrapolated differences for each number of x. It is empty if differences are not
  // extrapolated.
  std::vector<double> first_steps;
  std::vector<BlockTile> tiles;
  std::string note;
  std::size_t reused = 0;  // blocks whose functions were not called
  // Blocks in `slow` whose programs would cost more than they save, and the cost of J for them, in the units
  // of BlockEvaluator::jacobian_cost.
  std::size_t left_to_dual_numbers = 0;
  std::size_t refused = 0;  // other blocks in `slow` whose functions can be recorded
  double cost_of_dual_numbers = 0;
  std::size_t round = 0;  // number of the sampling round

  // Returns true for the tile whose f32 derivatives are compared with f64 ones.
  bool sampled(std::size_t tile) const {
    const BlockGroup& group = groups[tiles[tile].group];
    return tile == group.first_tile + round % group.tiles;
  }

  std::uint32_t kind(std::size_t block) const { return kind_of.empty() ? 0 : kind_of[block]; }

  void cut();  // cuts the groups into tiles
};

// Reuses the kinds of `earlier`, the groups of a list that had some of these blocks. Blocks that list.known
// finds in its groups are not called again: they keep their recording and constants. If `run` is given, its
// tasks call many blocks in parallel. Functions are recorded at `place`, or at x if it is empty.
BlockGroups group_blocks(const BlockList& list, std::span<const double> x, BlockGroups earlier,
                         const TaskRunner& run, std::span<const double> place = {});

// Copies the parameters of a block into consecutive memory.
inline void gather_block(const BlockList& list, std::size_t block, std::span<const double> x, double* out) {
  for (const std::uint32_t parameter : list.of(block)) {
    const double* from = x.data() + list.offsets[parameter];
    for (int i = 0; i < list.sizes[parameter]; ++i) *out++ = from[i];
  }
}

// Chooses the steps of differences for blocks whose functions give no derivatives (difference_steps.cpp). The
// usual step is proportional to the number that is moved. This is too long if the number is an offset such as
// a date (ShareSearch, rows/calls/difference_step.hpp). It is too short if other terms of the residuals are
// so large that their rounding errors hide the effect of the step. So the function returns, for each number
// of x, the share of the usual step over which the residuals are nearly straight at x. The result is empty if
// no block needs differences. If many residual blocks depend on a number, only some of them are called. It
// also sets groups.least_sizes if it is empty, and enlarges the sizes of numbers whose steps move no
// residual.
std::vector<double> block_step_shares(const BlockList& list, BlockGroups& groups, std::span<const double> x);

// Chooses the first steps of extrapolated differences at x. They are longer, as far as shares allow it.
std::vector<double> block_first_steps(std::span<const double> shares, std::span<const double> least_sizes,
                                      std::span<const double> x);

// Adds squares of the derivatives of a block that are wanted, and of their errors, to the sums of the numbers
// of x. J and errors are residuals x inputs.
void add_difference_sums(const BlockList& list, std::uint32_t block, std::span<const double> J,
                         std::span<const double> errors, std::span<DifferenceSums> sums);

}  // namespace nlsq::inline v0
