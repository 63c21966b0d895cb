// Implements ReducedSystem: assembly, dense and sparse Cholesky factorisation, and rank of the reduced camera
// system.
#include "blocks/schur/reduced_system.hpp"

#include "dense/dense_algebra.hpp"
#include "linear/sparse_cholesky.hpp"
#include "support/constants.hpp"
#include "support/random.hpp"

#include <algorithm>
#include <functional>
#include <new>
#include <optional>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kAlwaysDense = 100;  // for smaller matrices the dense factorisation is always faster
constexpr std::size_t kFewUnknowns = 600;  // up to here the operations of a sparse factor are counted first
// A sparse factor with more than this share of a dense one's operations takes longer (AVX-512 and AVX2,
// chains, grids and random graphs of 150 to 600 unknowns).
constexpr double kDenseOperations = 0.15;
constexpr double kDenseShareOfFew = 0.25;   // share of entries above which S is dense
constexpr std::size_t kLargestRank = 2000;  // largest reduced matrix whose rank is computed with pivoting
constexpr std::size_t kSerial = 100;        // unknowns below which threads do not pay
constexpr std::size_t kTasks = 16;

// Block k belongs to two cameras, a and b. Its row i lies in column (offset of a) + i of the lower triangle,
// from row (offset of b) on.
struct BlockShape {
  std::size_t column, row, rows, columns;  // `columns` columns of the lower triangle, from `column` on
};

}  // namespace

struct ReducedSystem::Impl {
  struct AlignedFree {
    void operator()(double* p) const { ::operator delete[](p, std::align_val_t{64}); }
  };

  const BlockStructure& structure;
  std::size_t n;
  bool dense;
  std::size_t ld = 0;
  std::unique_ptr<double[], AlignedFree> A;
  std::optional<SparseCholesky> sparse;

  BlockShape shape(std::size_t k) const {
    const auto [a, b] = structure.reduced_blocks[k];
    return {structure.camera_offset[a], structure.camera_offset[b], structure.block_size[b],
            structure.block_size[a]};
  }
  // Returns the number of entries of column `i` of block k above the diagonal. They are skipped.
  static std::size_t skipped(const BlockShape& s, std::size_t i) { return s.row == s.column ? i : 0; }

  double share_of_entries() const {
    double used = 0;
    for (std::size_t k = 0; k < structure.reduced_blocks.size(); ++k) {
      const BlockShape s = shape(k);
      used += static_cast<double>(s.rows) * static_cast<double>(s.columns) * (s.row == s.column ? 1 : 2);
    }
    return used / (static_cast<double>(n) * static_cast<double>(n));
  }

  // Keeps a sparse factor if it is faster than a dense one.
  void choose_factor() {
    dense = true;
    if (n <= kAlwaysDense || share_of_entries() > (n <= kFewUnknowns ? kDenseShareOfFew : kDenseShare))
      return;
    SparseCholesky::Pairs pairs;
    for (const auto& [a, b] : structure.reduced_blocks) pairs.emplace_back(a, b);
    sparse.emplace(structure.block_size, pairs);
    const double size = static_cast<double>(n);
    dense = n <= kFewUnknowns && sparse->operations() > kDenseOperations * size * size * size;
    if (dense) sparse.reset();
  }

  void allocate() {
    if (n == 0 || !dense) return;
    ld = (n + 7) / 8 * 8 + 8;
    A.reset(new (std::align_val_t{64}) double[ld * n + 8]());
  }

  FrontPlace dense_place(std::size_t k) const {
    const BlockShape s = shape(k);
    return {A.get(), ld, s.column, s.row, false};
  }

  // Adds block k of all chunks into its place in the front. Its rows become columns, or rows if it is
  // transposed.
  template <class T, class L>
  void assemble(std::size_t k, const FrontPlace& place, const T* chunks, std::size_t count,
                std::size_t stride, std::span<const double> damping) const {
    const BlockShape s = shape(k);
    const ReducedLayout layout = structure.layout<L>(k);
    const T* block = chunks + structure.reduced_target<L>()[k];
    double* first = place.front + place.column * place.ld + place.row;
    for (std::size_t i = 0; i < s.columns; ++i) {
      const std::size_t skip = skipped(s, i);
      if (place.turned) {
        for (std::size_t j = skip; j < s.rows; ++j)
          first[j * place.ld + i] = sum_over(block + layout.place(i, j), count, stride);
        continue;
      }
      double* to = first + i * place.ld;
      const T* from = block + layout.place(i, 0);
      for (std::size_t j = skip; j < layout.whole; ++j) to[j] = static_cast<double>(from[j]);
      for (std::size_t c = 1; c < count; ++c) {
        for (std::size_t j = skip; j < layout.whole; ++j) to[j] += static_cast<double>(from[c * stride + j]);
      }
      for (std::size_t j = std::max(skip, layout.whole); j < s.rows; ++j)
        to[j] = sum_over(block + layout.place(i, j), count, stride);
      if (s.row == s.column) to[i] += damping[s.column + i];
    }
  }
  // Calls work(0) ... work(count - 1), in ranges on several threads.
  void share(std::size_t count, const Parallelism& parallelism,
             const std::function<void(std::size_t)>& work) const {
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
    : impl_(new Impl{
          .structure = structure, .n = structure.reduced_size(), .dense = true, .A = {}, .sparse = {}}) {
  impl_->choose_factor();
  impl_->allocate();
}

ReducedSystem::~ReducedSystem() = default;

template <class T, class L>
bool ReducedSystem::factor(const T* chunks, std::size_t count, std::size_t stride,
                           std::span<const double> damping, const Parallelism& parallelism) {
  Impl& impl = *impl_;
  if (impl.n == 0) return true;
  if (!impl.dense) {
    return impl.sparse->factor([&](std::size_t k, const FrontPlace& place) {
      impl.assemble<T, L>(k, place, chunks, count, stride, damping);
    });
  }
  // The kernels read whole vectors across the diagonal, so the rest of these must be finite.
  impl.share(impl.n, parallelism, [&](std::size_t j) {
    const std::size_t first = j / 8 * 8;
    std::fill_n(impl.A.get() + j * impl.ld + first, impl.ld - first, 0.0);
  });
  impl.share(impl.structure.reduced_blocks.size(), parallelism, [&](std::size_t k) {
    impl.assemble<T, L>(k, impl.dense_place(k), chunks, count, stride, damping);
  });
  return block_kernels().cholesky_f64(impl.A.get(), impl.n, impl.ld);
}
template bool ReducedSystem::factor<double, double>(const double*, std::size_t, std::size_t,
                                                    std::span<const double>, const Parallelism&);
template bool ReducedSystem::factor<double, float>(const double*, std::size_t, std::size_t,
                                                   std::span<const double>, const Parallelism&);
template bool ReducedSystem::factor<float, float>(const float*, std::size_t, std::size_t,
                                                  std::span<const double>, const Parallelism&);

// Exchanges rows and columns a < b of the remaining part of a symmetric matrix: its lower triangle from
// column a on.
static void exchange(std::span<double> A, std::size_t n, std::size_t a, std::size_t b) {
  std::swap(A[a * n + a], A[b * n + b]);
  for (std::size_t i = a + 1; i < b; ++i) std::swap(A[i * n + a], A[b * n + i]);
  for (std::size_t i = b + 1; i < n; ++i) std::swap(A[i * n + a], A[i * n + b]);
}

int pivoted_rank(std::span<double> A, std::size_t n, double least) {
  std::vector<double> column(n > 8 ? n : 0);
  double few[8];
  double* const of = n > 8 ? column.data() : few;
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t best = k;
    for (std::size_t i = k + 1; i < n; ++i) {
      if (A[i * n + i] > A[best * n + best]) best = i;
    }
    if (best != k) exchange(A, n, k, best);
    const double pivot = A[k * n + k];
    if (!(pivot > least)) return static_cast<int>(k);
    for (std::size_t i = k + 1; i < n; ++i) of[i] = A[i * n + k];
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = of[i] / pivot;
      if (factor == 0) continue;
      double* to = A.data() + i * n;
      for (std::size_t j = k + 1; j <= i; ++j) to[j] -= factor * of[j];
    }
  }
  return static_cast<int>(n);
}

int ReducedSystem::rank(const double* chunks, std::size_t count, std::size_t stride,
                        std::span<const double> scale, double least) {
  const Impl& impl = *impl_;
  const std::size_t n = impl.n;
  std::vector<double> own(impl.dense ? 0 : n * n);
  const std::span<double> full = impl.dense ? std::span(impl.A.get(), n * n) : std::span(own);
  std::ranges::fill(full, 0.0);
  for (std::size_t k = 0; k < impl.structure.reduced_blocks.size(); ++k) {
    const BlockShape s = impl.shape(k);
    const ReducedLayout layout = impl.structure.layout<double>(k);
    for (std::size_t i = 0; i < s.columns; ++i) {
      for (std::size_t j = 0; j < s.rows; ++j) {
        const double sum =
            Impl::sum_over(chunks + impl.structure.reduced_target_f64[k] + layout.place(i, j), count, stride);
        const std::size_t a = s.column + i, b = s.row + j;
        full[a * n + b] = full[b * n + a] = sum / (scale[a] * scale[b]);
      }
    }
  }
  const int found = pivoted_rank(full, n, least);
  std::ranges::fill(full, 0.0);  // the factorisation expects zeros above the diagonal
  return found;
}

double ReducedSystem::inverse_norm(std::span<const double> scale, double least) {
  constexpr int kRounds = 8;  // from a random start; they give the order of size
  constexpr double kSafety = 64;
  Random random(1);
  std::vector<double> v(impl_->n);
  for (double& entry : v) entry = random.uniform() - 0.5;
  double most = 0;
  for (int round = 0; round < kRounds; ++round) {
    const double before = dense::norm(v.data(), v.size());
    for (std::size_t j = 0; j < v.size(); ++j) v[j] *= scale[j] / before;
    solve(v);
    for (std::size_t j = 0; j < v.size(); ++j) v[j] *= scale[j];
    most = std::max(most, round > 0 ? dense::norm(v.data(), v.size()) : 0);
    if (!(kSafety * least * dense::norm(v.data(), v.size()) < 1)) return kInfinity;
  }
  return most;
}

std::span<double> ReducedSystem::spare() {
  if (!impl_->A) return {};
  return {impl_->A.get(), impl_->ld * impl_->n};
}

bool ReducedSystem::too_large_for_rank() const { return impl_->n > kLargestRank; }

int ReducedSystem::count_pivots(std::span<const double> scale, double least) const {
  const Impl& impl = *impl_;
  std::vector<double> diagonal(impl.n);
  for (std::size_t j = 0; impl.dense && j < impl.n; ++j) diagonal[j] = impl.A[j * impl.ld + j];
  if (!impl.dense) impl.sparse->diagonal(diagonal);
  int count = 0;
  for (std::size_t j = 0; j < impl.n; ++j) {
    const double pivot = diagonal[j] / scale[j];
    count += pivot * pivot > least ? 1 : 0;
  }
  return count;
}

void ReducedSystem::solve(std::span<double> b) {
  Impl& impl = *impl_;
  if (impl.n == 0) return;
  if (impl.dense) {
    block_kernels().cholesky_solve_f64(impl.A.get(), impl.n, impl.ld, b.data());
    return;
  }
  impl.sparse->solve(b);
}

bool ReducedSystem::dense() const { return impl_->dense; }

std::size_t ReducedSystem::bytes() const {
  if (impl_->dense) return impl_->ld * impl_->n * sizeof(double);
  return impl_->sparse->bytes();
}

}  // namespace nlsq::inline v0
