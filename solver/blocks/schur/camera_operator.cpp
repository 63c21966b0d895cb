// Implements CameraOperator: products with the reduced camera system S, its preconditioner, and conjugate
// gradients.
#include "blocks/schur/camera_operator.hpp"

#include "linear/small_dense.hpp"

#include <algorithm>
#include <atomic>

namespace nlsq::inline v0 {

CameraOperator::CameraOperator(const BlockStructure& structure) : structure_(structure) {
  std::size_t numbers = 0;
  for (const std::uint32_t size : structure.block_size) {
    factor_first_.push_back(numbers);
    numbers += std::size_t{size} * size;
  }
  factors_.resize(numbers);
  pivots_.resize(structure.reduced_size());
  damping_.resize(structure.reduced_size());
  x_.resize(structure.reduced_size());
  padded_.resize(length());
  vectors_.resize(length() * chunks());
  scratch_.resize(std::max(structure.most_entries * structure.pad + structure.pad, structure.most_rows) *
                  chunks());
  diagonal_.resize(structure.reduced_target_f64.back() * chunks());
}

template <class R>
bool CameraOperator::prepare(const R* J, const std::vector<double>& V, const std::vector<double>& gradient,
                             std::span<const double> damping, std::vector<double>& roots,
                             Preconditioner preconditioner, const Parallelism& parallelism) {
  const BlockStructure& s = structure_;
  const EliminationData<R> data = s.data<R, double>(J);
  const std::size_t blocks = s.reduced_target_f64.back(), most = scratch_.size() / chunks();
  std::atomic<bool> definite{true};
  run_tasks(chunks(), parallelism, [&](std::size_t c) {
    double* diagonal = diagonal_.data() + blocks * c;
    double* b = vectors_.data() + length() * c;
    std::fill_n(diagonal, blocks, 0.0);
    std::fill_n(b, length(), 0.0);
    const bool schur = preconditioner == Preconditioner::schur_jacobi;
    if (!block_kernels().operators<R>().prepare(data, s.chunk[c], s.chunk[c + 1], V.data(), gradient.data(),
                                                damping.data(), roots.data(), schur, diagonal, b,
                                                scratch_.data() + most * c))
      definite = false;
  });
  return definite && invert_blocks(damping.subspan(s.point_numbers));
}

// Computes the Cholesky factors of the diagonal blocks.
bool CameraOperator::invert_blocks(std::span<const double> damping) {
  const BlockStructure& s = structure_;
  const std::size_t blocks = s.reduced_target_f64.back();
  bool definite = true;
  for (std::size_t f = 0; f < s.cameras(); ++f) {
    const std::size_t size = s.block_size[f];
    const ReducedLayout layout = s.layout<double>(f);
    double* L = factors_.data() + factor_first_[f];
    for (std::size_t j = 0; j < size; ++j) {
      const std::size_t number = s.camera_offset[f] + j;
      damping_[number] = damping[number];
      for (std::size_t i = j; i < size; ++i) {
        double sum = i == j ? damping_[number] : 0;
        for (std::size_t c = 0; c < chunks(); ++c)
          sum += diagonal_[blocks * c + s.reduced_target_f64[f] + layout.place(j, i)];
        L[j * size + i] = sum;
      }
    }
    definite = small_dense::cholesky(L, size, pivots_.data() + s.camera_offset[f]) && definite;
  }
  return definite;
}

void CameraOperator::precondition(std::span<const double> in, std::span<double> out) const {
  const BlockStructure& s = structure_;
  std::ranges::copy(in, out.begin());
  for (std::size_t f = 0; f < s.cameras(); ++f) {
    const double* L = factors_.data() + factor_first_[f];
    const std::size_t size = s.block_size[f], first = s.camera_offset[f];
    small_dense::solve_lower(L, size, pivots_.data() + first, out.data() + first);
    small_dense::solve_lower_transposed(L, size, pivots_.data() + first, out.data() + first);
  }
}

template <class R>
void CameraOperator::multiply(const R* J, const std::vector<double>& roots, std::span<const double> v,
                              std::span<double> out, const Parallelism& parallelism) {
  const BlockStructure& s = structure_;
  const EliminationData<R> data = s.data<R, double>(J);
  const std::size_t most = scratch_.size() / chunks();
  for (std::size_t f = 0; f < s.cameras(); ++f)
    std::copy_n(v.data() + s.camera_offset[f], s.block_size[f], padded_.data() + f * s.pad);
  run_tasks(chunks(), parallelism, [&](std::size_t c) {
    double* y = vectors_.data() + length() * c;
    std::fill_n(y, length(), 0.0);
    block_kernels().operators<R>().multiply(data, s.chunk[c], s.chunk[c + 1], roots.data(), padded_.data(), y,
                                            scratch_.data() + most * c);
  });
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = damping_[i] * v[i];
  for (std::size_t c = 0; c < chunks(); ++c) {
    const double* y = vectors_.data() + length() * c;
    for (std::size_t f = 0; f < s.cameras(); ++f) {
      double* to = out.data() + s.camera_offset[f];
      for (std::size_t i = 0; i < s.block_size[f]; ++i) to[i] += y[f * s.pad + i];
    }
  }
}

template <class R>
CgResult CameraOperator::solve(const R* J, const std::vector<double>& roots, std::span<double> b,
                               const CgGoal& goal, const Parallelism& parallelism) {
  const CgResult result = gradients_.solve(
      [&](std::span<const double> in, std::span<double> out) { multiply(J, roots, in, out, parallelism); },
      [&](std::span<const double> in, std::span<double> out) { precondition(in, out); }, b, x_, goal);
  std::ranges::copy(x_, b.begin());
  return result;
}

std::size_t CameraOperator::bytes() const {
  return (vectors_.capacity() + scratch_.capacity() + diagonal_.capacity() + factors_.capacity() + length() +
          7 * x_.size()) *
         sizeof(double);
}

template bool CameraOperator::prepare(const double*, const std::vector<double>&, const std::vector<double>&,
                                      std::span<const double>, std::vector<double>&, Preconditioner,
                                      const Parallelism&);
template bool CameraOperator::prepare(const float*, const std::vector<double>&, const std::vector<double>&,
                                      std::span<const double>, std::vector<double>&, Preconditioner,
                                      const Parallelism&);
template CgResult CameraOperator::solve(const double*, const std::vector<double>&, std::span<double>,
                                        const CgGoal&, const Parallelism&);
template CgResult CameraOperator::solve(const float*, const std::vector<double>&, std::span<double>,
                                        const CgGoal&, const Parallelism&);

}  // namespace nlsq::inline v0
