// Evaluates residual blocks and their Jacobians with shared programs: sixteen f32 or eight f64 blocks per
// instruction. The block minimizer uses it.
//
// Blocks of one kind are compared with one recording. Blocks that perform its operations to the end share one
// program: their constants become columns, and their parameters are gathered. Branches are checked in every
// lane at every evaluation. A lane that takes another branch is evaluated at once by the user's own code, on
// dual numbers. The same holds for a block that cannot be recorded. Every program is compared with dual
// numbers before it is used.
#pragma once

#include <nlsq/block_function.hpp>
#include "kernels/even_numbers.hpp"
#include "kernels/kernel_table.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

// Says where an evaluator stores a block's constants.
struct BlockPlace {
  static constexpr std::uint32_t kNowhere = 0xffffffffU;
  std::uint32_t group = kNowhere, lane = 0;
  bool operator==(const BlockPlace&) const = default;
};

// Lists the residual blocks of a problem. Block b uses the parameter blocks with the numbers uses[first[b]]
// to uses[first[b + 1] - 1].
struct BlockUses {
  std::vector<std::shared_ptr<const BlockFunction>> functions;
  EvenNumbers<std::uint32_t> first;
  std::vector<std::uint32_t> uses;
  // If it is not null, it begins to load into the caches what a call of the function will read.
  void (*fetch)(const BlockFunction&) = nullptr;

  BlockUses() { first.push_back(0); }

  std::span<const std::uint32_t> parameters_of(std::size_t block) const {
    return std::span(uses).subspan(first[block], first[block + 1] - first[block]);
  }
};

// Lists some blocks of a problem, and the positions of their parameters in x. The caller owns all arrays and
// keeps them alive.
struct BlockList {
  const BlockUses* problem = nullptr;
  EvenNumbers<std::uint32_t> residual_block;  // the number in the problem of each block of this list
  EvenNumbers<std::uint32_t> first;           // the parameter blocks of block b have the entries of `column`
                                              // from first[b] on. Several blocks may have the same entries
  EvenNumbers<std::uint32_t> row;             // first residual of block b in r
  // J is stored so: block b starts at `record[b]` and its rows are `stride[b]` apart. The derivatives by its
  // k-th parameter block start at column `column[first[b] + k]`. This is -1 if they are not wanted.
  EvenNumbers<std::uint64_t> record;
  EvenNumbers<std::uint32_t> stride;
  std::vector<std::int32_t> column;
  // These belong to parameter blocks:
  std::vector<std::uint32_t> offsets;  // in x
  std::vector<int> sizes;
  // For each block, this is its place in an earlier evaluator that had some of these blocks. It is empty if
  // there is none.
  std::vector<BlockPlace> known;
  std::vector<std::uint32_t> component;  // component of the problem that each block belongs to; empty if
                                         // there is only one
  // Estimate of how often J will be evaluated. If building programs would cost more than they save in that
  // many evaluations, blocks use dual numbers or their own derivatives instead. With 0, all programs are
  // built.
  double evaluations = 0;

  std::size_t blocks() const { return residual_block.size(); }
  const BlockFunction& function(std::size_t block) const {
    return *problem->functions[residual_block[block]];
  }
  std::span<const std::uint32_t> of(std::size_t block) const {
    return problem->parameters_of(residual_block[block]);
  }
};

// Blocks that share one program and one component of the problem, so that their derivatives have one format.
struct BlockProgramInfo {
  std::uint32_t component = 0;
  std::size_t blocks = 0;
  bool wide = false;  // evaluated in f64, even if J is stored in f32
};

// Holds the error of a program's f32 derivatives, from some blocks evaluated in both formats.
struct SampledError {
  std::size_t program = 0;
  // ‖J̃_j - J_j‖ / ‖J_j‖ over those blocks, for the input j for which it is largest. It is ∞ if f32
  // overflows.
  double error = 0;
};

// Holds sums of squares over derivatives by differences: of the derivatives, and of their estimated errors.
struct DifferenceSums {
  double slopes = 0, errors = 0;
};

struct BlockCounts {
  std::size_t traced = 0, dual = 0, own = 0, differences = 0;
  std::size_t left_to_dual_numbers = 0;  // those of them whose programs were not worth building
};

// Says where the derivatives of a range of blocks go. Number `first` of all records is at records[0]. Records
// from `boundary` on are in an array of their own, which begins with number `ambient_first`.
template <class T>
struct RecordTarget {
  T* records = nullptr;
  std::uint64_t first = 0;
  T* ambient = nullptr;
  std::uint64_t ambient_first = 0, boundary = ~std::uint64_t{0};

  T* at(std::uint64_t record) const {
    return record < boundary ? records + (record - first) : ambient + (record - ambient_first);
  }
};

// Holds the buffers of one thread. It is valid until the evaluator ends, or until its next classify() or
// distrust().
class BlockPass {
 public:
  virtual ~BlockPass() = default;
  // Computes r of the tile's blocks in f64. It is NaN if a function has no residuals. Returns how many lanes
  // took another branch than their program.
  virtual std::size_t residuals(std::size_t tile, std::span<const double> x, double* r) = 0;
  // Computes J of the tile's blocks. In f32, one tile of each program that is not wide is also evaluated in
  // f64; see take_samples.
  virtual std::size_t jacobian(std::size_t tile, std::span<const double> x, double* J) = 0;
  virtual std::size_t jacobian(std::size_t tile, std::span<const double> x, float* J) = 0;
  // Computes J of blocks [first, last) in f64, with the bits that their tiles give.
  virtual std::size_t jacobian_of(std::size_t first, std::size_t last, std::span<const double> x,
                                  const RecordTarget<double>& J) = 0;
  // Computes r of the tile's blocks by the user's own code in double, never by a program.
  virtual void reference(std::size_t tile, std::span<const double> x, double* r) = 0;
  // Bounds the rounding error of each residual of the tile's blocks, to first order. It goes through the
  // recorded operations and adds up what each of them can contribute (a running error bound). If a block has
  // no program, its function is recorded first. The bound is 0 if the function cannot be recorded, and it is
  // not finite if the error of an operation is not known. bound_rounding() describes `most`.
  virtual void rounding(std::size_t tile, std::span<const double> x, double* bounds, double most) = 0;
  // Returns the samples since the last call.
  virtual std::vector<SampledError> take_samples() = 0;
  // Returns the sums of all extrapolated differences since the last call: one for each number of x, or none.
  virtual std::vector<DifferenceSums> take_difference_sums() = 0;
  // These return the counters of all programs, or of the programs of one component.
  virtual KernelCounters counters() const = 0;
  virtual KernelCounters counters(std::uint32_t component) const = 0;
};

// Runs task(0) ... task(count - 1), each once, on any number of threads. If tasks throw, rethrows the
// exception of the lowest one.
using TaskRunner = std::function<void(std::size_t count, const std::function<void(std::size_t)>& task)>;

class NLSQ_API BlockEvaluator {
 public:
  // Records the blocks at x, or at another point if `place` is not empty. A block joins the first program
  // whose branches it takes there. Exceptions of user functions pass through. `list` must outlive the
  // evaluator. If `run` is given, its tasks call many blocks in parallel.
  BlockEvaluator(const BlockList& list, std::span<const double> x, const TaskRunner& run = {},
                 std::span<const double> place = {});
  // Makes an evaluator after blocks were added and removed. Blocks that list.known finds in `earlier` are not
  // called, because they are assumed to keep their constants. `earlier` is consumed. The caller must compare
  // residuals with the functions' own, and call classify() if they differ or a lane takes another branch.
  BlockEvaluator(const BlockList& list, std::span<const double> x, BlockEvaluator&& earlier,
                 const TaskRunner& run = {}, std::span<const double> place = {});
  ~BlockEvaluator();
  BlockEvaluator(BlockEvaluator&&) noexcept;
  // Returns the number of blocks whose constants were taken over. It is 0 from the next classify() on.
  std::size_t carried() const;
  // Keeps the evaluator unchanged, so that all constants count as taken over.
  void carry_all();
  // Returns one entry for each block.
  std::vector<BlockPlace> places() const;

  // Sorts the blocks again by the branches they take at x, or at `place`. This calls all of them.
  void classify(std::span<const double> x, const TaskRunner& run = {}, std::span<const double> place = {});
  // Evaluates every block by the user's own code from now on, because a program gave a wrong result.
  void distrust(std::string why);

  // These concern programs and the formats of their derivatives if J is f32. Existing passes use a change at
  // once.
  BlockProgramInfo program(std::size_t number) const;
  void set_wide(std::size_t program, bool wide);
  // Chooses other blocks for the next samples of f32 derivatives.
  void move_samples();
  // Extrapolates differences near x from now on, and end_extrapolation() ends that. This takes about five
  // times as many calls, and the errors of these derivatives are known. Existing passes use it at once.
  void extrapolate_differences(std::span<const double> x);
  void end_extrapolation();
  // Returns the program of the tile's blocks, or programs() if they use the user's own code.
  std::size_t program_of(std::size_t tile) const;

  // Returns true if some of blocks [first, last) use the user's own code.
  bool calls_functions(std::size_t first, std::size_t last) const;

  std::size_t tiles() const;
  // Returns the number of blocks in a tile.
  std::size_t tile_blocks(std::size_t tile) const;
  std::unique_ptr<BlockPass> begin() const;
  BlockCounts counts() const;
  // Returns true if each block has a program, or none because building it was not worth its cost.
  bool all_recorded() const;
  // Returns the number of blocks whose functions can be recorded, but could not be at that point, or whose
  // program was wrong.
  std::size_t refused() const;
  // Returns the reason why some blocks were not recorded. It is empty if all were.
  const std::string& note() const;
  std::size_t programs() const;
  // Returns the cost of one pass with derivatives, in f64 additions, over all blocks whose operations are
  // known. These are the blocks with programs, and those that were recorded but did not get a program.
  double jacobian_cost() const;
  std::size_t bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace nlsq::inline v0
