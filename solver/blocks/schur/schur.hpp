// Solves the damped normal equations of a block problem by eliminating the points:
//
//   (JᵀJ + λ D²) s = -Jᵀr,   S = U - W V⁻¹ Wᵀ,   S s_c = -(g_c - W V⁻¹ g_p),   s_p = -V⁻¹ (g_p + Wᵀ s_c)
//
// Records of J are in format R, arithmetic in T: all f32, f32 records with f64 arithmetic, or all f64. f32
// sums stay within a chunk of points, and chunks are added in f64. V is inverted and S factored in f64. D
// holds the column norms, points first, then cameras. If S is not formed (BlockStructure::implicit), s_c
// comes from conjugate gradients and sums are f64. BlockSystem uses it.
#pragma once

#include "blocks/block_structure.hpp"
#include "blocks/schur/camera_operator.hpp"
#include "blocks/schur/reduced_system.hpp"
#include "blocks/windows/record_reader.hpp"
#include "program/aligned_vector.hpp"
#include "support/parallel.hpp"

#include <nlsq/scheduler.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

struct RecordColumns;

struct BlockStep {
  bool factored = false;     // numerically positive definite; if false, the other members are not valid
  std::vector<double> step;  // tangent: points, then cameras
  double predicted = 0;      // cost decrease of the linear model
  double decrement = 0;      // √(gᵀ(H+λD²)⁻¹g)
  double scaled_norm = 0;    // ‖D s‖
  int iterations = 0;        // of conjugate gradients
  // Is true if conjugate gradients met their tolerance. If false, the step still decreases the model.
  bool reached = true;
};

class SchurSolver {
 public:
  // If `earlier` is not null, its memory is reused.
  SchurSolver(const BlockStructure& structure, const Parallelism& parallelism,
              SchurSolver* earlier = nullptr);
  // Starts another solve of the same structure.
  void begin(const Parallelism& parallelism);
  bool iterative() const { return structure_.implicit; }
  // Sets preconditioner and tolerance of conjugate gradients.
  void aim(Preconditioner preconditioner, const CgGoal& goal) {
    preconditioner_ = preconditioner, goal_ = goal;
  }
  int iterations() const { return iterations_; }  // of the last solve or accelerate

  // Computes gradient and column norms from the records.
  template <class R, class T>
  void gather(RecordReader<R>& J);
  // Computes the gradient from records of another point, and keeps what gather() computed last.
  void gather_aside(RecordReader<double>& J, std::vector<double>& gradient);
  // Fixes the tangent coordinates with held[j] = 1. Must be called after gather. Their columns must be zero
  // in the records, too.
  void hold(std::span<const std::uint8_t> held);
  const std::vector<double>& gradient() const { return gradient_; }  // tangent
  const std::vector<double>& squares() const { return squares_; }    // squared column norms

  // Solves for a step. Requires the records and the results of gather(). `scale` is the diagonal of D, by
  // tangent index. If it is empty, D has the norms of the columns, and 1 for a column that is zero.
  template <class R, class T>
  void solve(RecordReader<R>& J, double lambda, std::span<const double> scale, BlockStep& out);

  // Computes the acceleration a of a step v. Must be called after solve, whose matrix is reused:
  //   (JᵀJ + λ D²) a = -Jᵀρ,   ρ = factor (moved - J v),
  // where `moved`, by row, is overwritten with ρ. Returns ‖D a‖.
  template <class R, class T>
  double accelerate(RecordReader<R>& J, std::span<const double> step, std::span<const double> scale,
                    double factor, std::span<double> moved, std::vector<double>& acceleration);

  // Estimates the norm of S⁻¹, with columns of J scaled to unit length, if J clearly has full rank; otherwise
  // returns infinity. `fixed` flags tangent coordinates that do not count; it may be empty. Must be called
  // after solve() of records in f64. `damping` is the most that it can have been, relative to squared norms
  // of columns; it must be far above rounding errors.
  double inverse_norm(std::span<const double> scale, std::span<const std::uint8_t> fixed, double damping);
  // Returns true if points are determined so weakly that damping by this share of squared norms, or rounding
  // errors, may change pivots of S that rank() counts.
  bool points_blur_rank(std::span<const double> scale, double damping) const;
  // Returns true if the reduced system is so large that rank() only counts the pivots of its factor.
  bool too_large_for_rank() const { return reduced_ && reduced_->too_large_for_rank(); }
  // Estimates the rank of J, with columns scaled to unit length, from the pivots of the points' matrices and
  // of S. The rank is -1 if no matrix was formed or it cannot be factored. `eliminated` says that the last
  // solve() used these records in f64, with a damping that is negligible beside the least pivot; then its
  // sums are used again.
  RankEstimate rank(RecordReader<double>& J, std::span<const double> scale, bool eliminated = false);

  // Factors H = JᵀJ without damping, after gather. Returns false if it is not positive definite.
  bool factor(RecordReader<double>& J);
  // Replaces each b by H⁻¹ b, using the factors. Several vectors share the readings of J, which may take
  // longer than the arithmetic.
  void solve_factored(RecordReader<double>& J, std::span<std::vector<double>> all_b);
  void solve_factored(RecordReader<double>& J, std::vector<double>& b) { solve_factored(J, {&b, 1}); }
  // Computes out = Jᵀ (J x) for each x.
  void multiply(RecordReader<double>& J, std::span<const std::vector<double>> all_x,
                std::span<std::vector<double>> all_out) const;
  void multiply(RecordReader<double>& J, const std::vector<double>& x, std::vector<double>& out) const {
    multiply(J, {&x, 1}, {&out, 1});
  }

  std::string describe(Preconditioner preconditioner) const;  // in words
  // Frees the f32 sums, which are no longer needed, and their total: that of f64 sums takes less memory.
  void release_f32() { sums_f32_ = {}, total_ = AlignedVector<double>(); }
  bool dense() const { return reduced_ && reduced_->dense(); }
  int threads() const { return threads_; }
  std::size_t bytes() const;

 private:
  template <class T>
  struct Sums {
    AlignedVector<T> blocks, cameras, scratch;  // of all chunks, or of those that are summed at once
  };
  template <class T>
  Sums<T>& sums();
  // Returns D_jj², with `scale` as in solve().
  double squared_scale(std::span<const double> scale, std::size_t j) const {
    if (!scale.empty()) return scale[j] * scale[j];
    return squares_[j] > 0 ? squares_[j] : 1;
  }
  // Eliminates the points with this damping: computes the chunks of S and of the right-hand side. Returns
  // false if a point's matrix is not positive definite.
  template <class R, class T>
  bool eliminate(RecordReader<R>& J, double lambda, std::span<const double> scale);
  // Returns the number of chunks that sum blocks of S at the same time, each in an array of its own.
  template <class T>
  std::size_t chunks_at_once() const;
  // Returns true if the chunks' blocks of S are added up in total_ before S is factored.
  template <class T>
  bool adds_up() const {
    return chunks_at_once<T>() < chunks();
  }
  // Returns memory for sums that are no longer needed when S is factored; empty if there is none.
  template <class T>
  std::span<T> spare_numbers();
  // Factors the reduced system, whose right-hand side is in the chunks of `sums`.
  template <class T>
  bool factor_reduced();
  // Returns the sums by camera of all chunks.
  template <class T>
  T* camera_sums();
  // Replaces rhs_ by S⁻¹ rhs_.
  template <class R>
  CgResult solve_reduced(RecordReader<R>& J);
  template <class R, class T>
  CgResult substitute(RecordReader<R>& J, const std::vector<double>& gradient, std::vector<double>& step);
  // Returns the cameras' part of a step, with `pad` numbers for each camera.
  template <class T>
  const T* cameras_as();
  // The pivots of the points' matrices, with columns of J scaled to unit length.
  struct PointPivots {
    int lost = 0;      // how many are too small
    double least = 1;  // if none is lost
  };
  PointPivots point_pivots(std::span<const double> scale) const;
  void solve_point(std::size_t point, const double* b, double* x) const;
  // Both functions overwrite `parts` (for_each_row_of_point).
  void eliminate_from(double* b, std::size_t point, const RecordView<double>& records,
                      std::vector<RecordColumns>& parts) const;
  void substitute_into(double* b, std::size_t point, const RecordView<double>& records,
                       std::vector<RecordColumns>& parts) const;
  std::size_t chunks() const { return structure_.chunk.size() - 1; }

  const BlockStructure& structure_;
  const Parallelism* parallelism_;
  std::optional<ReducedSystem> reduced_;    // either S is formed
  std::optional<CameraOperator> operator_;  // or applied as an operator
  Preconditioner preconditioner_ = Preconditioner::schur_jacobi;
  CgGoal goal_;
  int iterations_ = 0;
  Sums<float> sums_f32_;
  Sums<double> sums_f64_;
  AlignedVector<double> total_;  // the blocks of S, where they are added up
  std::vector<double> V_, roots_, gradient_, squares_, damping_, rhs_;
  std::vector<double> other_V_, other_squares_;  // of gather_aside()
  AlignedVector<double> step_cameras_;
  AlignedVector<float> step_cameras_f32_;
  int threads_ = 1;
};

}  // namespace nlsq::inline v0
