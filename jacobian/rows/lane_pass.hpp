// Passes over the rows of many problems of one program at once: each problem has a lane of every vector.
#pragma once

#include <nlsq/column.hpp>
#include <nlsq/export.hpp>
#include "kernels/kernel_table.hpp"
#include "program/tile_program.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

// Residuals and derivatives are evaluated, and folded into Gram sums, in f64 or in f32 (sums flushed to f64
// after at most 512 rows). A problem's numbers have the same bits in any lane and beside any others. Not
// shared between threads.
class NLSQ_API LanePass {
 public:
  // `jacobian`: outputs J, then r; it must outlive the pass. All problems have `rows` rows, and `sampled` of
  // them, spread over all, are kept for residual().
  static std::unique_ptr<LanePass> make(const TileProgram& jacobian, std::size_t rows, std::size_t sampled,
                                        bool single);
  virtual ~LanePass() = default;

  virtual std::size_t lanes() const = 0;
  // The rows of one data column, of one problem or of all.
  virtual void set_column(int column, std::size_t lane, const Column& values) = 0;
  virtual void share_column(int column, const Column& values) = 0;
  // parameters[j * lanes + l] is parameter j, free or not, of problem l; sums[k * lanes + l] its entry k of
  // the packed upper triangle of [J | r]ᵀ[J | r]. Lanes without a problem hold what they may.
  virtual void run(const double* parameters, double* sums, KernelCounters& counters) = 0;

  const std::vector<std::size_t>& sampled_rows() const { return sampled_; }
  // Of sampled row k, in the last run.
  virtual double residual(std::size_t k, std::size_t lane) const = 0;

 protected:
  std::vector<std::size_t> sampled_;
};

}  // namespace nlsq::inline v0
