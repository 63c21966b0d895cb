// Implements SchurSolver: gathers gradient and column norms, eliminates points, solves, and substitutes back.
#include "blocks/schur/schur.hpp"

#include "support/constants.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

namespace nlsq::inline v0 {

namespace {

constexpr double kLeastPivot = 1e-10;        // of JᵀJ, with columns of J scaled to unit length
constexpr std::size_t kSmallSums = 1 << 16;  // numbers in the sums of all chunks that are not worth saving

// Adds the blocks of S of `count` chunks to `all`, in the order of the chunks. of_chunk(k) points to the
// blocks of chunk first + k. Chunk 0 is copied to `all`, so that `all` need not be zero before.
template <class T>
void add_up(double* all, std::size_t length, std::size_t first, std::size_t count,
            const std::function<const T*(std::size_t)>& of_chunk, const Parallelism& parallelism) {
  constexpr std::size_t kTasks = 16;
  run_tasks(kTasks, parallelism, [&](std::size_t task) {
    const std::size_t begin = task * length / kTasks, end = (task + 1) * length / kTasks;
    if (first == 0) std::copy(of_chunk(0) + begin, of_chunk(0) + end, all + begin);
    for (std::size_t c = first == 0 ? 1 : 0; c < count; ++c) {
      const T* of = of_chunk(c);
      for (std::size_t k = begin; k < end; ++k) all[k] += static_cast<double>(of[k]);
    }
  });
}

}  // namespace

SchurSolver::SchurSolver(const BlockStructure& structure, const Parallelism& parallelism,
                         SchurSolver* earlier)
    : structure_(structure), parallelism_(&parallelism) {
  if (structure.implicit) operator_.emplace(structure);
  else reduced_.emplace(structure);
  if (earlier) {
    std::swap(sums_f32_, earlier->sums_f32_);
    std::swap(sums_f64_, earlier->sums_f64_);
    std::swap(total_, earlier->total_);
    std::swap(V_, earlier->V_);
    std::swap(roots_, earlier->roots_);
  }
  V_.resize(structure.matrix_numbers);
  roots_.resize(structure.matrix_numbers);
  gradient_.resize(structure.tangent_size());
  squares_.resize(structure.tangent_size());
  damping_.resize(structure.tangent_size());
  rhs_.resize(structure.reduced_size());
}

void SchurSolver::begin(const Parallelism& parallelism) {
  parallelism_ = &parallelism;
  threads_ = 1;
}

template <>
SchurSolver::Sums<float>& SchurSolver::sums() {
  return sums_f32_;
}
template <>
SchurSolver::Sums<double>& SchurSolver::sums() {
  return sums_f64_;
}

template <class T>
std::span<T> SchurSolver::spare_numbers() {
  const std::span<double> spare = reduced_->spare();
  return {reinterpret_cast<T*>(spare.data()), spare.size() * sizeof(double) / sizeof(T)};
}

// With S as an operator, all sums are in f64.
template <>
float* SchurSolver::camera_sums() {
  return sums_f32_.cameras.data();
}
template <>
double* SchurSolver::camera_sums() {
  return operator_ ? operator_->chunk_vectors().data() : sums_f64_.cameras.data();
}

template <>
const double* SchurSolver::cameras_as() {
  return step_cameras_.data();
}
template <>
const float* SchurSolver::cameras_as() {
  step_cameras_f32_.assign(step_cameras_.begin(), step_cameras_.end());
  return step_cameras_f32_.data();
}

template <class R, class T>
void SchurSolver::gather(RecordReader<R>& J) {
  const BlockStructure& s = structure_;
  const std::size_t cameras = s.cameras() * s.pad;
  auto& both = sums<T>().cameras;  // squares, then gradient, of each chunk
  both.resize(2 * cameras * chunks());
  const int threads = run_tasks(chunks(), *parallelism_, [&](std::size_t c) {
    T* squares = both.data() + 2 * cameras * c;
    std::fill_n(squares, 2 * cameras, T(0));
    J.visit(c, [&](std::size_t first, std::size_t last, const RecordView<R>& records) {
      block_kernels().elimination<R, T>().gather(s.data<R, T>(records.numbers, records.first), first, last,
                                                 V_.data(), gradient_.data(), squares, squares + cameras);
    });
  });
  threads_ = std::max(threads_, threads);
  for (std::size_t p = 0; p < s.real_points; ++p) {
    const std::size_t e = s.point_size[p];
    for (std::size_t k = 0; k < e; ++k)
      squares_[s.point_offset[p] + k] = symmetric(V_.data() + s.point_matrix[p], k, k);
  }
  for (std::size_t f = 0; f < s.cameras(); ++f) {
    for (std::size_t i = 0; i < s.block_size[f]; ++i) {
      double squares = 0, gradient = 0;
      for (std::size_t c = 0; c < chunks(); ++c) {
        const T* of = both.data() + 2 * cameras * c + f * s.pad + i;
        squares += static_cast<double>(of[0]);
        gradient += static_cast<double>(of[cameras]);
      }
      const std::size_t place = s.point_numbers + s.camera_offset[f] + i;
      squares_[place] = squares;
      gradient_[place] = gradient;
    }
  }
}

void SchurSolver::gather_aside(RecordReader<double>& J, std::vector<double>& gradient) {
  gradient.resize(gradient_.size());
  other_V_.resize(V_.size());
  other_squares_.resize(squares_.size());
  const auto exchange = [&] {
    std::swap(gradient_, gradient);
    std::swap(V_, other_V_);
    std::swap(squares_, other_squares_);
  };
  exchange();
  gather<double, double>(J);
  exchange();
}

void SchurSolver::hold(std::span<const std::uint8_t> held) {
  const BlockStructure& s = structure_;
  for (std::size_t j = 0; j < held.size(); ++j) {
    if (held[j]) gradient_[j] = squares_[j] = 0;
  }
  for (std::size_t p = 0; p < s.real_points; ++p) {
    const std::size_t e = s.point_size[p];
    double* V = V_.data() + s.point_matrix[p];
    for (std::size_t k = 0; k < e; ++k) {
      for (std::size_t i = 0; i <= k; ++i) {
        if (held[s.point_offset[p] + k] || held[s.point_offset[p] + i]) V[triangle(k) + i] = 0;
      }
    }
  }
}

template <class R, class T>
bool SchurSolver::eliminate(RecordReader<R>& J, double lambda, std::span<const double> scale) {
  const BlockStructure& s = structure_;
  for (std::size_t j = 0; j < damping_.size(); ++j) damping_[j] = lambda * squared_scale(scale, j);
  if (operator_)
    return operator_->prepare(J.whole(), V_, gradient_, damping_, roots_, preconditioner_, *parallelism_);
  const std::size_t cameras = s.cameras() * s.pad, blocks = s.reduced_target<T>().back();
  const std::size_t most = s.most_entries * s.pad + s.pad;
  Sums<T>& sum = sums<T>();
  const std::size_t width = chunks_at_once<T>();
  const bool added_up = adds_up<T>();
  // The memory of the factor is free until S is factored. Arrays that are added up before that can use it.
  const std::span<T> spare = added_up ? spare_numbers<T>() : std::span<T>();
  const std::size_t in_spare = std::min(width, spare.size() / std::max<std::size_t>(blocks, 1));
  sum.blocks.resize(blocks * (width - in_spare));
  if (added_up) total_.resize(blocks);
  const auto of_chunk = [&](std::size_t k) {
    return k < in_spare ? spare.data() + blocks * k : sum.blocks.data() + blocks * (k - in_spare);
  };
  sum.cameras.resize(2 * cameras * chunks());
  sum.scratch.resize(most * width);
  std::atomic<bool> definite{true};
  for (std::size_t first = 0; first < chunks() && definite; first += width) {
    const std::size_t count = std::min(width, chunks() - first);
    run_tasks(count, *parallelism_, [&](std::size_t k) {
      const std::size_t c = first + k;
      T* S = of_chunk(k);
      T* b = sum.cameras.data() + cameras * c;
      std::fill_n(S, blocks, T(0));
      std::fill_n(b, cameras, T(0));
      bool fine = true;
      J.visit(c, [&](std::size_t from, std::size_t to, const RecordView<R>& records) {
        fine =
            fine && block_kernels().elimination<R, T>().eliminate(
                        s.data<R, T>(records.numbers, records.first), from, to, V_.data(), gradient_.data(),
                        damping_.data(), roots_.data(), S, b, sum.scratch.data() + most * k);
      });
      if (!fine) definite = false;
    });
    if (added_up) add_up<T>(total_.data(), blocks, first, count, of_chunk, *parallelism_);
  }
  return definite;
}

template <class T>
std::size_t SchurSolver::chunks_at_once() const {
  const std::size_t all = chunks(), threads = parallelism_->executor ? 4 : most_threads(*parallelism_);
  if (all * structure_.reduced_target<T>().back() <= kSmallSums) return all;
  return std::min(all, std::max<std::size_t>(threads, 1));
}

template <class R>
CgResult SchurSolver::solve_reduced(RecordReader<R>& J) {
  CgResult result;
  if (operator_) result = operator_->solve(J.whole(), roots_, rhs_, goal_, *parallelism_);
  else reduced_->solve(rhs_);
  iterations_ = result.iterations;
  return result;
}

template <class R, class T>
CgResult SchurSolver::substitute(RecordReader<R>& J, const std::vector<double>& gradient,
                                 std::vector<double>& step) {
  const BlockStructure& s = structure_;
  const std::size_t cameras = s.cameras() * s.pad;
  step.resize(s.tangent_size());
  step_cameras_.assign(cameras + s.pad, 0);
  for (std::size_t f = 0; f < s.cameras(); ++f) {
    for (std::size_t i = 0; i < s.block_size[f]; ++i) {
      double eliminated = 0;
      for (std::size_t c = 0; c < chunks(); ++c)
        eliminated += static_cast<double>(camera_sums<T>()[cameras * c + f * s.pad + i]);
      const std::size_t place = s.camera_offset[f] + i;
      rhs_[place] = eliminated - gradient[s.point_numbers + place];
    }
  }
  const CgResult result = solve_reduced(J);
  for (std::size_t f = 0; f < s.cameras(); ++f) {
    for (std::size_t i = 0; i < s.block_size[f]; ++i)
      step_cameras_[f * s.pad + i] = rhs_[s.camera_offset[f] + i];
  }
  std::ranges::copy(rhs_, step.begin() + static_cast<std::ptrdiff_t>(s.point_numbers));
  const T* moved = cameras_as<T>();
  run_tasks(chunks(), *parallelism_, [&](std::size_t c) {
    J.visit(c, [&](std::size_t first, std::size_t last, const RecordView<R>& records) {
      block_kernels().elimination<R, T>().substitute(s.data<R, T>(records.numbers, records.first), first,
                                                     last, roots_.data(), gradient.data(), moved,
                                                     step.data());
    });
  });
  return result;
}

template <class T>
bool SchurSolver::factor_reduced() {
  const auto damping = std::span<const double>(damping_).subspan(structure_.point_numbers);
  if (adds_up<T>()) return reduced_->factor<double, T>(total_.data(), 1, 0, damping, *parallelism_);
  return reduced_->factor<T, T>(sums<T>().blocks.data(), chunks(), structure_.reduced_target<T>().back(),
                                damping, *parallelism_);
}

template <class R, class T>
void SchurSolver::solve(RecordReader<R>& J, double lambda, std::span<const double> scale, BlockStep& out) {
  out.factored = eliminate<R, T>(J, lambda, scale) && (operator_ || factor_reduced<T>());
  if (!out.factored) return;
  const CgResult solved = substitute<R, T>(J, gradient_, out.step);
  out.iterations = solved.iterations;
  out.reached = !operator_ || (solved.reached && solved.definite);
  double along = 0, damped = 0, scaled = 0;
  for (std::size_t j = 0; j < out.step.size(); ++j) {
    along -= gradient_[j] * out.step[j];
    damped += damping_[j] * out.step[j] * out.step[j];
    scaled += squared_scale(scale, j) * out.step[j] * out.step[j];
  }
  out.predicted = 0.5 * (damped + along + solved.leftover);
  out.decrement = std::sqrt(std::max(along, 0.0));
  out.scaled_norm = std::sqrt(scaled);
  // An indefinite matrix fails at the first product, or gives a step that still decreases the model.
  out.factored = std::isfinite(out.predicted) && along >= 0 && (solved.definite || solved.iterations > 0);
}

// Here, b of the chunks is -Fᵀ(ρ - E V⁻¹Eᵀρ), which already includes the gradient of the cameras.
template <class R, class T>
double SchurSolver::accelerate(RecordReader<R>& J, std::span<const double> step,
                               std::span<const double> scale, double factor, std::span<double> moved,
                               std::vector<double>& acceleration) {
  const BlockStructure& s = structure_;
  const std::size_t cameras = s.cameras() * s.pad;
  for (std::size_t f = 0; f < s.cameras(); ++f) {
    for (std::size_t i = 0; i < s.block_size[f]; ++i)
      step_cameras_[f * s.pad + i] = step[s.point_numbers + s.camera_offset[f] + i];
  }
  const T* along = cameras_as<T>();
  std::vector<double>& bent = damping_;  // its damping is in the factors, so it is free
  std::ranges::fill(bent, 0.0);
  run_tasks(chunks(), *parallelism_, [&](std::size_t c) {
    T* b = camera_sums<T>() + cameras * c;
    std::fill_n(b, cameras, T(0));
    J.visit(c, [&](std::size_t first, std::size_t last, const RecordView<R>& records) {
      block_kernels().elimination<R, T>().bend(s.data<R, T>(records.numbers, records.first), first, last,
                                               roots_.data(), step.data(), along, factor, s.list.row.view(),
                                               moved.data(), bent.data(), b);
    });
    for (std::size_t k = 0; k < cameras; ++k) b[k] = -b[k];
  });
  substitute<R, T>(J, bent, acceleration);
  double scaled = 0;
  for (std::size_t j = 0; j < acceleration.size(); ++j)
    scaled += scale[j] * scale[j] * acceleration[j] * acceleration[j];
  return std::sqrt(scaled);
}

// Compiles these functions for records of the format R and arithmetic in T.
#define NLSQ_COMPILE_FOR(R, T)                                                                           \
  template void SchurSolver::gather<R, T>(RecordReader<R>&);                                             \
  template void SchurSolver::solve<R, T>(RecordReader<R>&, double, std::span<const double>, BlockStep&); \
  template double SchurSolver::accelerate<R, T>(RecordReader<R>&, std::span<const double>,               \
                                                std::span<const double>, double, std::span<double>,      \
                                                std::vector<double>&);
NLSQ_COMPILE_FOR(double, double)
NLSQ_COMPILE_FOR(float, double)
NLSQ_COMPILE_FOR(float, float)
#undef NLSQ_COMPILE_FOR
template bool SchurSolver::factor_reduced<double>();
template bool SchurSolver::eliminate<double, double>(RecordReader<double>&, double, std::span<const double>);

SchurSolver::PointPivots SchurSolver::point_pivots(std::span<const double> scale) const {
  const BlockStructure& s = structure_;
  PointPivots out;
  std::vector<double> scaled;
  for (std::size_t p = 0; p < s.real_points; ++p) {
    const std::size_t e = s.point_size[p];
    const double* V = V_.data() + s.point_matrix[p];
    const double* norms = scale.data() + s.point_offset[p];
    scaled.resize(e * e);
    for (std::size_t i = 0; i < e; ++i) {
      for (std::size_t j = 0; j < e; ++j) scaled[i * e + j] = symmetric(V, i, j) / (norms[i] * norms[j]);
    }
    out.lost += static_cast<int>(e) - pivoted_rank(scaled, e, kLeastPivot);
    for (std::size_t i = 0; i < e; ++i) out.least = std::min(out.least, scaled[i * e + i]);
  }
  return out;
}

double SchurSolver::inverse_norm(std::span<const double> scale, std::span<const std::uint8_t> fixed,
                                 double damping) {
  if (operator_ || reduced_->too_large_for_rank()) return kInfinity;
  const PointPivots points = point_pivots(scale);
  if (points.lost > 0) return kInfinity;
  const std::span<const double> all = scale.subspan(structure_.point_numbers);
  std::vector<double> of_cameras(all.begin(), all.end());
  for (std::size_t j = 0; j < of_cameras.size() && !fixed.empty(); ++j) {
    if (fixed[structure_.point_numbers + j] != 0) of_cameras[j] = 0;
  }
  // The damping of points, and rounding errors of their inverses, change S by as much as the damping over the
  // least pivot. That can make a singular S look regular.
  return reduced_->inverse_norm(of_cameras, std::max(kLeastPivot, damping / points.least));
}

bool SchurSolver::points_blur_rank(std::span<const double> scale, double damping) const {
  return !(damping / point_pivots(scale).least <= kLeastPivot);
}

RankEstimate SchurSolver::rank(RecordReader<double>& J, std::span<const double> scale, bool eliminated) {
  if (operator_) return {};
  constexpr double kDamping = 1e-14;
  const BlockStructure& s = structure_;
  if (!eliminated && !eliminate<double, double>(J, kDamping, scale)) return {};
  const std::span<const double> of_cameras = scale.subspan(s.point_numbers);
  const int points = static_cast<int>(s.point_numbers) - point_pivots(scale).lost;
  if (reduced_->too_large_for_rank()) {
    if (!eliminated && !factor_reduced<double>()) return {};
    return {points + reduced_->count_pivots(of_cameras, kLeastPivot), true};
  }
  const bool added_up = adds_up<double>();
  const double* first = added_up ? total_.data() : sums_f64_.blocks.data();
  const std::size_t count = added_up ? 1 : chunks(), stride = s.reduced_target_f64.back();
  return {points + reduced_->rank(first, count, stride, of_cameras, kLeastPivot), false};
}

std::size_t SchurSolver::bytes() const {
  const auto of = [](const auto& v) { return v.capacity() * sizeof(v[0]); };
  return (reduced_ ? reduced_->bytes() : operator_->bytes()) + of(V_) + of(roots_) + of(gradient_) +
         of(squares_) + of(other_V_) + of(other_squares_) + of(damping_) + of(sums_f32_.blocks) +
         of(sums_f32_.cameras) + of(sums_f32_.scratch) + of(sums_f64_.blocks) + of(sums_f64_.cameras) +
         of(sums_f64_.scratch) + of(total_);
}

}  // namespace nlsq::inline v0
