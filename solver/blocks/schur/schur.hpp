// Damped normal equations of a block problem, solved by eliminating the points:
//
//   (JᵀJ + λ D²) s = -Jᵀr,   S = U - W V⁻¹ Wᵀ,   S s_c = -(g_c - W V⁻¹ g_p),   s_p = -V⁻¹ (g_p + Wᵀ s_c)
//
// Records in R, arithmetic in T: f32 throughout, f32 records in f64, f64 throughout. f32 sums stay within a
// chunk of points, chunks are added in f64; V is inverted and S factored in f64. D: column norms, points
// first, then cameras. Or S is not formed (BlockStructure::implicit), and s_c found by conjugate gradients:
// sums are f64 then.
#pragma once

#include "blocks/block_structure.hpp"
#include "blocks/schur/camera_operator.hpp"
#include "blocks/schur/reduced_system.hpp"
#include "support/aligned_vector.hpp"
#include "support/parallel.hpp"

#include <nlsq/scheduler.hpp>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

struct BlockStep {
  bool factored = false;     // numerically positive definite; else nothing below is meaningful
  std::vector<double> step;  // tangent: points, then cameras
  double predicted = 0;      // cost decrease of the linear model
  double decrement = 0;      // √(gᵀ(H+λD²)⁻¹g)
  double scaled_norm = 0;    // ‖D s‖
  int iterations = 0;        // of conjugate gradients
  bool reached = true;       // their goal; else the step decreases the model, but is not the one asked for
};

class SchurSolver {
 public:
  // The memory of an earlier one, which may be null, serves again.
  SchurSolver(const BlockStructure& structure, const Parallelism& parallelism,
              SchurSolver* earlier = nullptr);
  // Another solve of the same structure.
  void begin(const Parallelism& parallelism);
  bool iterative() const { return structure_.implicit; }
  // What conjugate gradients are to do from now on.
  void aim(Preconditioner preconditioner, const CgGoal& goal) {
    preconditioner_ = preconditioner, goal_ = goal;
  }
  int iterations() const { return iterations_; }  // of the last solve or acceleration

  // Gradient and column norms from records. `finish(first slot, last slot)` runs before a range of them is
  // read.
  template <class R, class T>
  void gather(const R* J, const std::function<void(std::size_t, std::size_t)>& finish);
  // After gather: numbers with a 1 stay where they are. Their columns must be zero in the records, too.
  void hold(std::span<const std::uint8_t> held);
  const std::vector<double>& gradient() const { return gradient_; }  // tangent
  const std::vector<double>& squares() const { return squares_; }    // of columns

  // The records and what was gathered from them must still be there.
  template <class R, class T>
  void solve(const R* J, double lambda, std::span<const double> scale, BlockStep& out);

  // After solve, whose matrix serves again: the acceleration a of a step v,
  //   (JᵀJ + λ D²) a = -Jᵀρ,   ρ = factor (moved - J v),
  // where `moved`, by row, is overwritten with ρ. Returns ‖D a‖.
  template <class R, class T>
  double accelerate(const R* J, std::span<const double> step, std::span<const double> scale, double factor,
                    std::span<double> moved, std::vector<double>& acceleration);

  // Of J, columns scaled to unit length: by pivots of the points' matrices and of the reduced one. -1: no
  // matrix was formed, or it cannot be factored.
  RankEstimate rank(const double* J, std::span<const double> scale);

  // H = JᵀJ, undamped, after gather. False: not positive definite.
  bool factor(const double* J);
  // b becomes H⁻¹ b, by the factors.
  void solve_factored(const double* J, std::span<double> b);
  // out = Jᵀ (J x).
  void multiply(const double* J, std::span<const double> x, std::span<double> out) const;
  // Each row of J whole, in tangent numbers, and its residual; all as weighted by losses.
  void row_by_row(const double* J,
                  const std::function<void(std::span<const double> row, double residual)>& visit) const;

  std::string describe(Preconditioner preconditioner) const;  // in words
  // Sums in f32 are not asked for any more.
  void release_f32() { sums_f32_ = {}; }
  bool dense() const { return reduced_ && reduced_->dense(); }
  int threads() const { return threads_; }
  std::size_t bytes() const;

 private:
  template <class T>
  struct Sums {
    AlignedVector<T> blocks, cameras, scratch;  // of all chunks
  };
  template <class T>
  Sums<T>& sums();
  // The points eliminated at this damping: chunks of S and of the right-hand side. False: not positive
  // definite.
  template <class R, class T>
  bool eliminate(const R* J, double lambda, std::span<const double> scale);
  // The right-hand side is in chunks of `sums`: the reduced system solved, the points by substitution.
  template <class T>
  bool factor_reduced();
  // Sums over a chunk's points by camera, of all chunks.
  template <class T>
  T* camera_sums();
  // rhs_ becomes S⁻¹ of it.
  template <class R>
  CgResult solve_reduced(const R* J);
  template <class R, class T>
  CgResult substitute(const R* J, const std::vector<double>& gradient, std::vector<double>& step);
  // The cameras' part of a step, `pad` numbers each.
  template <class T>
  const T* cameras_as();
  void solve_point(std::size_t point, const double* b, double* x) const;
  std::size_t chunks() const { return structure_.chunk.size() - 1; }

  const BlockStructure& structure_;
  const Parallelism* parallelism_;
  std::optional<ReducedSystem> reduced_;    // one or
  std::optional<CameraOperator> operator_;  // the other
  Preconditioner preconditioner_ = Preconditioner::schur_jacobi;
  CgGoal goal_;
  int iterations_ = 0;
  Sums<float> sums_f32_;
  Sums<double> sums_f64_;
  std::vector<double> V_, inverse_, gradient_, squares_, damping_, rhs_, bent_;
  AlignedVector<double> step_cameras_;
  AlignedVector<float> step_cameras_f32_;
  int threads_ = 1;
};

}  // namespace nlsq::inline v0
