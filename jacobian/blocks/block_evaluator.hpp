// Residual blocks, evaluated by shared programs: sixteen f32 or eight f64 blocks an instruction.
//
// Blocks of one kind replay one recording; those that follow it to the end share one program, their constants
// become columns, their parameters are gathered. Decisions are checked in every lane at every evaluation: a
// lane that decides otherwise is computed through the user's own code, on dual numbers, there and then. So is
// a block that cannot be recorded. Every program is compared with dual numbers before it is believed.
#pragma once

#include <nlsq/block_function.hpp>
#include "kernels/kernel_table.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

// Where an evaluator has a block's constants.
struct BlockPlace {
  static constexpr std::uint32_t kNowhere = 0xffffffffU;
  std::uint32_t group = kNowhere, lane = 0;
};

// Which blocks there are, and where their parameters lie in x. All arrays belong to the caller and stay.
struct BlockList {
  std::vector<const BlockFunction*> functions;
  std::vector<std::uint32_t> first;  // block b has parameters [first[b], first[b + 1]) of the next arrays
  std::vector<std::uint32_t> parameters;  // parameter block numbers
  std::vector<std::uint32_t> row;         // first residual of block b in r
  // Where J goes: block b at `record[b]`, its rows `stride[b]` apart, the derivatives by the k-th of its
  // parameters from `column[first[b] + k]` on; -1: not wanted.
  std::vector<std::uint64_t> record;
  std::vector<std::uint32_t> stride;
  std::vector<std::int32_t> column;
  // Of parameter blocks.
  std::vector<std::uint32_t> offsets;  // in x
  std::vector<int> sizes;
  // Places in an evaluator of other blocks and these, by block; empty: there is none.
  std::vector<BlockPlace> known;
  std::vector<std::uint32_t> component;  // part of the problem that block b is of; empty: there is one
  // How often J is going to be evaluated, as far as can be told before. Where making programs would cost more
  // than they save by then, blocks are evaluated by dual numbers, or by derivatives of their own. 0: all
  // programs are made.
  double evaluations = 0;

  std::size_t blocks() const { return functions.size(); }
  std::span<const std::uint32_t> of(std::size_t block) const {
    return std::span(parameters).subspan(first[block], first[block + 1] - first[block]);
  }
};

// Blocks of one program and one part of the problem: their derivatives are in one format.
struct BlockProgramInfo {
  std::uint32_t component = 0;
  std::size_t blocks = 0;
  bool wide = false;  // evaluated in f64, also where J is stored in f32
};

// What some blocks of a program, evaluated in both formats, say of its f32 derivatives.
struct SampledError {
  std::size_t program = 0;
  // ‖J̃_j - J_j‖ / ‖J_j‖ over those blocks, of the input j for which it is largest; ∞ where f32 overflows.
  double error = 0;
};

struct BlockCounts {
  std::size_t traced = 0, dual = 0, own = 0, differences = 0;
  std::size_t spared = 0;  // of those, blocks whose programs were not worth making
};

// One thread's buffers. Ends with the evaluator, and with its next call of classify() or distrust().
class BlockPass {
 public:
  virtual ~BlockPass() = default;
  // r of the tile's blocks, in f64; NaN where a function has none. Returns how many lanes left their program.
  virtual std::size_t residuals(std::size_t tile, std::span<const double> x, double* r) = 0;
  // J of the tile's blocks. In f32 one tile of each program that is not wide is evaluated in f64, too: see
  // take_samples.
  virtual std::size_t jacobian(std::size_t tile, std::span<const double> x, double* J) = 0;
  virtual std::size_t jacobian(std::size_t tile, std::span<const double> x, float* J) = 0;
  // r of the tile's blocks by the user's own code in double, never by a program.
  virtual void reference(std::size_t tile, std::span<const double> x, double* r) = 0;
  // Of the tile's blocks, where r has their residuals: how far rounding may carry a residual, by a running
  // error bound along the recorded operations, to first order. Residuals by a program and by the function
  // itself may differ by some times as much, and the program be right. 0 where the function itself gives
  // them; not finite where nothing can be said.
  virtual void rounding(std::size_t tile, std::span<const double> x, double* bounds) = 0;
  // What was sampled since this was asked last.
  virtual std::vector<SampledError> take_samples() = 0;
  // Of all programs; or of those of one part of the problem.
  virtual KernelCounters counters() const = 0;
  virtual KernelCounters counters(std::uint32_t component) const = 0;
};

// Runs task(0) ... task(count - 1), each once, on as many threads as it likes; rethrows what the lowest of
// those that throw threw.
using TaskRunner = std::function<void(std::size_t count, const std::function<void(std::size_t)>& task)>;

class NLSQ_API BlockEvaluator {
 public:
  // Records the blocks at x, where a block's decisions are those of its first program. What a user's function
  // throws passes through. `list` must outlive the evaluator. Many blocks are asked by tasks of `run`, where
  // it is given.
  BlockEvaluator(const BlockList& list, std::span<const double> x, const TaskRunner& run = {});
  // The same after blocks have come and gone: those that list.known places in `earlier`, which is used up,
  // are not called but taken to have the constants they had. Whoever asks for that compares residuals with
  // the functions' own, and calls classify() where they differ or a lane has left its program.
  BlockEvaluator(const BlockList& list, std::span<const double> x, BlockEvaluator&& earlier,
                 const TaskRunner& run = {});
  ~BlockEvaluator();
  BlockEvaluator(BlockEvaluator&&) noexcept;
  // How many blocks have constants that were taken over; 0 from the next classify() on.
  std::size_t carried() const;
  // The evaluator serves again as it is: all constants count as taken over.
  void carry_all();
  // By block.
  std::vector<BlockPlace> places() const;

  // Blocks are sorted anew by the decisions they take at x; all are called.
  void classify(std::span<const double> x, const TaskRunner& run = {});
  // From now on every block goes through the user's own code: programs were seen to give something else.
  void distrust(std::string why);

  // Programs, and the formats of their derivatives where J is in f32. Passes see a change at once.
  BlockProgramInfo program(std::size_t number) const;
  void set_wide(std::size_t program, bool wide);
  // The next f32 derivatives are sampled at other blocks than the last ones.
  void move_samples();
  // Of the tile's blocks; programs() where they go through the user's own code.
  std::size_t program_of(std::size_t tile) const;

  std::size_t tiles() const;
  // Blocks in a tile.
  std::size_t tile_blocks(std::size_t tile) const;
  std::unique_ptr<BlockPass> begin() const;
  BlockCounts counts() const;
  // Why blocks were not recorded; empty where all were.
  const std::string& note() const;
  std::size_t programs() const;
  // f64 adds of one pass over all blocks whose operations are known: those of programs, and those that were
  // recorded and spared a program.
  double value_cost() const;
  double jacobian_cost() const;
  std::size_t bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace nlsq::inline v0
