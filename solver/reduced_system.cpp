#include "reduced_system.hpp"

#include <Eigen/SparseCholesky>

#include <algorithm>
#include <functional>
#include <new>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kAlwaysDense = 600;   // of a smaller matrix the dense factor is always faster
constexpr std::size_t kLargestRank = 2000;  // of the reduced matrix
constexpr std::size_t kSerial = 100;        // unknowns below which threads do not pay
constexpr std::size_t kTasks = 16;
constexpr double kDenseShare = 0.1;         // of blocks in use, from which on a dense factor is

struct AlignedFree {
  void operator()(double* p) const { ::operator delete[](p, std::align_val_t{64}); }
};

using Sparse = Eigen::SparseMatrix<double, Eigen::ColMajor, std::int64_t>;

// Row i of block k is part of column (offset of a) + i of the lower triangle, from row (offset of b) on.
struct BlockShape {
  std::size_t column, row, rows, columns;  // of the lower triangle: `columns` columns from `column` on
};

}  // namespace

struct ReducedSystem::Impl {
  const BlockStructure& structure;
  std::size_t n;
  bool dense;
  std::size_t ld = 0;
  std::unique_ptr<double[], AlignedFree> A;
  Sparse matrix;
  std::vector<std::size_t> first_row;     // of each block, and the end, where rows of all blocks are counted
  std::vector<std::size_t> value_of_row;  // of each of these rows: where its numbers begin among the values
  Eigen::SimplicialLLT<Sparse, Eigen::Lower, Eigen::AMDOrdering<std::int64_t>> factor;
  Eigen::VectorXd rhs;

  BlockShape shape(std::size_t k) const {
    const auto [a, b] = structure.reduced_blocks[k];
    return {structure.camera_offset[a], structure.camera_offset[b], structure.block_size[b], structure.block_size[a]};
  }
  // Numbers of column `i` of block k in the lower triangle: on the diagonal it begins at the diagonal.
  static std::size_t skipped(const BlockShape& s, std::size_t i) { return s.row == s.column ? i : 0; }

  void allocate() {
    if (n == 0) return;
    first_row.assign(1, 0);
    for (std::size_t k = 0; k < structure.reduced_blocks.size(); ++k) first_row.push_back(first_row.back() + shape(k).columns);
    if (dense) {
      ld = (n + 7) / 8 * 8 + 8;
      A.reset(new (std::align_val_t{64}) double[ld * n + 8]());
      return;
    }
    // Columns of the lower triangle by cameras: blocks (a, b) lie sorted by a, then b.
    matrix.resize(static_cast<std::int64_t>(n), static_cast<std::int64_t>(n));
    std::vector<std::size_t> lengths(n, 0);
    for (std::size_t k = 0; k < structure.reduced_blocks.size(); ++k) {
      const BlockShape s = shape(k);
      for (std::size_t i = 0; i < s.columns; ++i) lengths[s.column + i] += s.rows - skipped(s, i);
    }
    std::size_t values = 0;
    for (std::size_t j = 0; j < n; ++j) {
      matrix.outerIndexPtr()[j] = static_cast<std::int64_t>(values);
      values += std::exchange(lengths[j], values);  // from here on: where the column's next numbers go
    }
    matrix.outerIndexPtr()[n] = static_cast<std::int64_t>(values);
    matrix.resizeNonZeros(static_cast<std::int64_t>(values));
    for (std::size_t k = 0; k < structure.reduced_blocks.size(); ++k) {
      const BlockShape s = shape(k);
      for (std::size_t i = 0; i < s.columns; ++i) {
        value_of_row.push_back(lengths[s.column + i]);
        for (std::size_t r = skipped(s, i); r < s.rows; ++r) {
          matrix.innerIndexPtr()[lengths[s.column + i]++] = static_cast<std::int64_t>(s.row + r);
        }
      }
    }
    factor.analyzePattern(matrix);
    rhs.resize(static_cast<std::int64_t>(n));
  }

  template <class T>
  void assemble(std::size_t k, const T* chunks, std::size_t count, std::size_t stride, std::span<const double> damping) {
    const BlockShape s = shape(k);
    const ReducedLayout layout = structure.layout<T>(k);
    const T* block = chunks + structure.reduced_target<T>()[k];
    for (std::size_t i = 0; i < s.columns; ++i) {
      const std::size_t skip = skipped(s, i);
      double* to = dense ? A.get() + (s.column + i) * ld + s.row : matrix.valuePtr() + value_of_row[first_row[k] + i] - skip;
      const T* from = block + layout.place(i, 0);
      for (std::size_t j = skip; j < layout.whole; ++j) to[j] = static_cast<double>(from[j]);
      for (std::size_t c = 1; c < count; ++c) {
        for (std::size_t j = skip; j < layout.whole; ++j) to[j] += static_cast<double>(from[c * stride + j]);
      }
      for (std::size_t j = std::max(skip, layout.whole); j < s.rows; ++j) to[j] = sum_over(block + layout.place(i, j), count, stride);
      if (s.row == s.column) to[i] += damping[s.column + i];
    }
  }
  // work(0) ... work(count - 1), by ranges.
  void share(std::size_t count, const Parallelism& parallelism, const std::function<void(std::size_t)>& work) const {
    const std::size_t tasks = std::min<std::size_t>(count, n < kSerial ? 1 : kTasks);
    run_tasks(tasks, parallelism, [&](std::size_t task) {
      for (std::size_t k = task * count / tasks; k < (task + 1) * count / tasks; ++k) work(k);
    });
  }
  template <class T>
  static double sum_over(const T* first, std::size_t count, std::size_t stride) {
    double sum = 0;
    for (std::size_t c = 0; c < count; ++c) sum += static_cast<double>(first[c * stride]);
    return sum;
  }
};

ReducedSystem::ReducedSystem(const BlockStructure& structure)
    : impl_(new Impl{.structure = structure, .n = structure.reduced_size(), .dense = true,
                     .A = {}, .matrix = {}, .first_row = {}, .value_of_row = {}, .factor = {}, .rhs = {}}) {
  double used = 0;
  for (std::size_t k = 0; k < structure.reduced_blocks.size(); ++k) {
    const BlockShape s = impl_->shape(k);
    used += static_cast<double>(s.rows) * static_cast<double>(s.columns) * (s.row == s.column ? 1 : 2);
  }
  const double size = static_cast<double>(impl_->n);
  impl_->dense = impl_->n <= kAlwaysDense || used > kDenseShare * size * size;
  impl_->allocate();
}

ReducedSystem::~ReducedSystem() = default;

template <class T>
bool ReducedSystem::factor(const T* chunks, std::size_t count, std::size_t stride, std::span<const double> damping,
                           const Parallelism& parallelism) {
  Impl& impl = *impl_;
  if (impl.n == 0) return true;
  if (impl.dense) {
    impl.share(impl.n, parallelism, [&](std::size_t j) { std::fill_n(impl.A.get() + j * impl.ld + j, impl.ld - j, 0.0); });
  }
  impl.share(impl.structure.reduced_blocks.size(), parallelism, [&](std::size_t k) { impl.assemble(k, chunks, count, stride, damping); });
  if (impl.dense) return block_kernels().cholesky_f64(impl.A.get(), impl.n, impl.ld);
  impl.factor.factorize(impl.matrix);
  return impl.factor.info() == Eigen::Success;
}
template bool ReducedSystem::factor(const double*, std::size_t, std::size_t, std::span<const double>, const Parallelism&);
template bool ReducedSystem::factor(const float*, std::size_t, std::size_t, std::span<const double>, const Parallelism&);

int pivoted_rank(std::span<double> A, std::size_t n, double least) {
  std::vector<std::size_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = i;
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t best = k;
    for (std::size_t i = k + 1; i < n; ++i) {
      if (A[order[i] * n + order[i]] > A[order[best] * n + order[best]]) best = i;
    }
    std::swap(order[k], order[best]);
    const std::size_t p = order[k];
    const double pivot = A[p * n + p];
    if (!(pivot > least)) return static_cast<int>(k);
    const double* row = A.data() + p * n;
    for (std::size_t i = k + 1; i < n; ++i) {
      double* to = A.data() + order[i] * n;
      const double factor = to[p] / pivot;
      if (factor == 0) continue;
      for (std::size_t j = 0; j < n; ++j) to[j] -= factor * row[j];
    }
  }
  return static_cast<int>(n);
}

int ReducedSystem::rank(const double* chunks, std::size_t count, std::size_t stride, std::span<const double> scale, double least) {
  const Impl& impl = *impl_;
  const std::size_t n = impl.n;
  if (n > kLargestRank) return -1;
  std::vector<double> full(n * n);
  for (std::size_t k = 0; k < impl.structure.reduced_blocks.size(); ++k) {
    const BlockShape s = impl.shape(k);
    const ReducedLayout layout = impl.structure.layout<double>(k);
    for (std::size_t i = 0; i < s.columns; ++i) {
      for (std::size_t j = 0; j < s.rows; ++j) {
        const double sum = Impl::sum_over(chunks + impl.structure.reduced_target_f64[k] + layout.place(i, j), count, stride);
        const std::size_t a = s.column + i, b = s.row + j;
        full[a * n + b] = full[b * n + a] = sum / (scale[a] * scale[b]);
      }
    }
  }
  return pivoted_rank(full, n, least);
}

void ReducedSystem::solve(std::span<double> b) {
  Impl& impl = *impl_;
  if (impl.n == 0) return;
  if (impl.dense) {
    block_kernels().cholesky_solve_f64(impl.A.get(), impl.n, impl.ld, b.data());
    return;
  }
  std::ranges::copy(b, impl.rhs.data());
  impl.rhs = impl.factor.solve(impl.rhs);
  std::copy_n(impl.rhs.data(), b.size(), b.data());
}

bool ReducedSystem::dense() const { return impl_->dense; }

std::size_t ReducedSystem::bytes() const {
  if (impl_->dense) return impl_->ld * impl_->n * sizeof(double);
  const auto numbers = static_cast<std::size_t>(impl_->matrix.nonZeros() + impl_->factor.matrixL().nestedExpression().nonZeros());
  return numbers * (sizeof(double) + sizeof(std::int64_t)) + impl_->value_of_row.size() * sizeof(std::size_t);
}

}  // namespace nlsq::inline v0
