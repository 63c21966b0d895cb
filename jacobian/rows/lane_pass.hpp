// Passes over the rows of many problems with the same program: each problem has one lane of every vector.
// Batch fits use it.
#pragma once

#include <nlsq/column.hpp>
#include <nlsq/export.hpp>
#include "kernels/kernel_table.hpp"
#include "program/tile_program.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace nlsq::inline v0 {

class StepsCache;  // machine_code/program_steps.hpp

// Evaluates residuals and derivatives of several problems, which are fits of one model to different data, and
// adds them to Gram sums. Each problem has a lane of the vector registers. The pass works in f64, or in f32
// with sums that are added to f64 sums after at most 512 rows. A problem gives the same bits in any lane, and
// whatever the other problems are. Two threads must not use one pass at the same time.
class NLSQ_API LanePass {
 public:
  // `jacobian` has the outputs J, then r. It must outlive the pass. All problems have `rows` rows, of which
  // `sampled` rows, spread evenly, are kept for residuals(). `steps` belongs to the model. `fits` is about
  // the number of problems that will run.
  static std::unique_ptr<LanePass> make(const TileProgram& jacobian, StepsCache& steps, std::size_t rows,
                                        std::size_t sampled, bool single, std::size_t fits);
  virtual ~LanePass() = default;

  virtual std::size_t lanes() const = 0;
  // Sets the rows of one data column, for one problem or for all.
  virtual void set_column(int column, std::size_t lane, const Column& values) = 0;
  virtual void share_column(int column, const Column& values) = 0;
  // parameters[j * lanes + l] is parameter j, fixed or not, of problem l. sums[k * lanes + l] is entry k of
  // the packed upper triangle of [J | r]ᵀ[J | r]. Lanes without a problem may hold any values.
  virtual void run(const double* parameters, double* sums, KernelCounters& counters) = 0;

  const std::vector<std::size_t>& sampled_rows() const { return sampled_; }
  // Writes the residuals of the sampled rows in the last run.
  virtual void residuals(std::size_t lane, double* out) const = 0;

 protected:
  std::vector<std::size_t> sampled_;
};

}  // namespace nlsq::inline v0
