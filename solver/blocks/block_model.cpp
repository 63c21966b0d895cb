// Implements BlockModel: evaluates residuals, cost and J of a block problem, with losses and manifolds.
#include "blocks/block_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kMostTasks = 32;
constexpr double kThreadWork = 1e6;      // in f64 adds, about 50 µs: smaller tasks do not repay a thread
constexpr std::size_t kSumSlots = 1024;  // residual blocks whose costs are summed together

TaskRunner runner(const Parallelism& parallelism) {
  return [&parallelism](std::size_t count, const std::function<void(std::size_t)>& task) {
    run_tasks(count, parallelism, task);
  };
}

}  // namespace

BlockModel::BlockModel(const Problem::Impl& problem, const BlockStructure& structure,
                       std::span<const double> x, const Parallelism& parallelism,
                       const ProblemControl* control, BlockModel* earlier)
    : problem_(problem), structure_(structure), parallelism_(&parallelism), control_(control),
      bounds_(problem, structure),
      evaluator_(earlier
                     ? BlockEvaluator(structure.list, x, std::move(earlier->evaluator_), runner(parallelism))
                     : BlockEvaluator(structure.list, x, runner(parallelism))) {
  if (earlier) {
    std::swap(J_f32_, earlier->J_f32_);
    std::swap(J_f64_, earlier->J_f64_);
    if (structure.zeros_in_records) J_f32_.clear(), J_f64_.clear();
  }
  std::size_t size = 0;
  for (const ParameterBlock& block : problem.parameters) {
    plus_offset_.push_back(size);
    if (block.manifold && block.tangent() > 0)
      size += static_cast<std::size_t>(block.size) * static_cast<std::size_t>(block.tangent());
  }
  plus_.resize(size);
}

void BlockModel::begin(const Parallelism& parallelism, const ProblemControl* control) {
  parallelism_ = &parallelism;
  control_ = control;
  bounds_ = BlockBounds(problem_, structure_);
  announced_.clear();
  threads_ = 1;
  evaluator_.carry_all();
}

void BlockModel::end() {
  passes_.clear();  // with their counters
  earlier_.clear();
}

template <>
std::vector<float>& BlockModel::storage() {
  return J_f32_;
}
template <>
std::vector<double>& BlockModel::storage() {
  return J_f64_;
}
// The cost of functions that are not recorded is unknown.
bool BlockModel::alone() const {
  const BlockCounts counts = evaluator_.counts();
  return evaluator_.jacobian_cost() < kThreadWork &&
         counts.traced + counts.spared == structure_.list.blocks();
}

// Distributes tiles over tasks and calls work(pass, tile, task).
void BlockModel::for_each_tile(const std::function<void(BlockPass&, std::size_t, std::size_t)>& work) {
  const std::size_t tiles = evaluator_.tiles(), tasks = std::min(tiles, kMostTasks);
  threads_ = std::max(
      threads_, run_tasks(tasks, alone() ? Parallelism{1, {}} : *parallelism_, [&](std::size_t task) {
        const PassPool::Loan loan(passes_, evaluator_);
        for (std::size_t tile = task * tiles / tasks; tile < (task + 1) * tiles / tasks; ++tile)
          work(loan.pass(), tile, task);
      }));
}

// Calls the callbacks on this thread, before any function.
void BlockModel::announce(std::span<const double> x, bool derivatives) {
  if (!control_ || !control_->before_evaluation) return;
  const bool fresh = !std::ranges::equal(x, announced_);
  if (fresh) announced_.assign(x.begin(), x.end());
  control_->before_evaluation(x, derivatives, fresh);
}

// Records all functions again if many blocks take another branch than their program: these are slow.
void BlockModel::reclassify(std::span<const double> x, std::size_t left) {
  if (left > 16 + structure_.list.blocks() / 64) record_again(x);
}

void BlockModel::record_again(std::span<const double> x) {
  keep_counters();
  evaluator_.classify(x, runner(*parallelism_));
  apply_formats();
}

double BlockModel::cost(std::span<const double> x, std::vector<double>& r) {
  announce(x, false);
  r.resize(structure_.residuals);
  std::vector<std::size_t> left(kMostTasks, 0);
  for_each_tile([&](BlockPass& pass, std::size_t tile, std::size_t task) {
    left[task] += pass.residuals(tile, x, r.data());
  });
  left_ = std::accumulate(left.begin(), left.end(), std::size_t{0});
  double total = 0;
  const std::size_t slots = structure_.list.blocks();
  for (std::size_t first = 0; first < slots; first += kSumSlots) {
    const std::size_t last = std::min(slots, first + kSumSlots);
    double sum = 0;
    for (std::size_t slot = first; slot < last; ++slot) {
      double squares = 0;
      for (std::size_t i = 0; i < structure_.rows[slot]; ++i)
        squares += r[structure_.list.row[slot] + i] * r[structure_.list.row[slot] + i];
      sum += structure_.losses.empty() ? squares : structure_.losses[slot](squares).rho;
    }
    total += sum;
  }
  return 0.5 * total;
}

template <class T>
void BlockModel::linearize(std::span<const double> x, std::span<const double> r) {
  announce(x, true);
  std::vector<T>& J = storage<T>();
  J.resize(structure_.record_size);
  r_ = r;
  std::vector<std::size_t> left(kMostTasks, 0);
  if constexpr (std::is_same_v<T, float>) evaluator_.move_samples();
  for_each_tile([&](BlockPass& pass, std::size_t tile, std::size_t task) {
    left[task] += pass.jacobian(tile, x, J.data());
  });
  if constexpr (std::is_same_v<T, float>) heed_samples(x);
  for (std::size_t p = 0; p < problem_.parameters.size(); ++p) {
    const ParameterBlock& block = problem_.parameters[p];
    if (block.manifold && block.tangent() > 0)
      block.manifold->plus_jacobian(x.data() + structure_.list.offsets[p], plus_.data() + plus_offset_[p]);
  }
  reclassify(x, std::accumulate(left.begin(), left.end(), std::size_t{0}));
}

// Triggs's correction (Bundle Adjustment: A Modern Synthesis, 2000, section 4.3): √ρ' on J and r. Where ρ'' >
// 0, it adds the curvature along r, because JᵀJ alone would give too long steps. Where ρ'' < 0, it would only
// reduce H and is left out.
BlockModel::LossWeight BlockModel::weight_of(std::size_t slot, const double* r) const {
  if (structure_.losses.empty() || !losses_applied_ || structure_.losses[slot].is_linear()) return {};
  const Loss& loss = structure_.losses[slot];
  double squares = 0;
  for (std::size_t i = 0; i < structure_.rows[slot]; ++i) squares += r[i] * r[i];
  const double slope = loss(squares).slope;
  LossWeight out{std::sqrt(slope), 0};
  if (!loss.is_own() || !(slope > 0) || !(squares > 0)) return out;
  constexpr double kShare = 0x1p-20;  // ρ'' is unknown: differences of ρ'
  const double curvature = (loss(squares * (1 + kShare)).slope - slope) / (squares * kShare);
  const double stretch = 2 * curvature * squares / slope;
  if (stretch > kShare && std::isfinite(stretch)) out.along = (std::sqrt(1 + stretch) - 1) / squares;
  return out;
}

template <class T>
void BlockModel::finish(std::size_t first, std::size_t last) {
  const BlockStructure& s = structure_;
  T* J = storage<T>().data();
  auto mapped = std::ranges::lower_bound(s.manifold_records, first, {}, &ManifoldRecord::slot);
  for (; mapped != s.manifold_records.end() && mapped->slot < last; ++mapped) {
    for (std::uint32_t k = s.list.first[mapped->slot]; k < s.list.first[mapped->slot + 1]; ++k) {
      if (s.list.column[k] < 0) continue;
      const std::uint32_t p = s.list.parameters[k];
      const ParameterBlock& block = problem_.parameters[p];
      const auto ambient = static_cast<std::size_t>(block.size),
                 tangent = static_cast<std::size_t>(block.tangent());
      for (std::size_t i = 0; i < s.rows[mapped->slot]; ++i) {
        const T* from =
            J + mapped->ambient + i * mapped->ambient_stride + static_cast<std::size_t>(s.list.column[k]);
        T* to = J + s.record()[mapped->slot] + i * s.stride()[mapped->slot] +
                static_cast<std::size_t>(s.local_column()[k]);
        for (std::size_t j = 0; j < tangent; ++j) {
          double sum = block.manifold ? 0 : static_cast<double>(from[j]);
          for (std::size_t a = 0; block.manifold && a < ambient; ++a) {
            sum += static_cast<double>(from[a]) * plus_[plus_offset_[p] + a * tangent + j];
          }
          to[j] = static_cast<T>(sum);
        }
      }
    }
  }
  std::size_t point =
      static_cast<std::size_t>(std::ranges::upper_bound(s.slot_first, first) - s.slot_first.begin()) - 1;
  for (std::size_t slot = first; slot < last; ++slot) {
    while (slot >= s.slot_first[point + 1]) ++point;
    const double* r = r_.data() + s.list.row[slot];
    const LossWeight weight = weight_of(slot, r);
    T* row = J + s.record()[slot];
    const std::size_t stride = s.stride()[slot];
    for (std::size_t i = 0; i < s.rows[slot]; ++i, row += stride) {
      row[s.point_size[point]] = static_cast<T>(r[i]);
      if (weight.root == 1) continue;
      for (std::size_t j = 0; j < stride; ++j) row[j] *= static_cast<T>(weight.root);
    }
    if (weight.along > 0) stretch_along_residual(J + s.record()[slot], slot, s.point_size[point], r, weight);
  }
}

// Replaces J by (I + along r rᵀ) J, and scales r so that Jᵀr does not change.
template <class T>
void BlockModel::stretch_along_residual(T* record, std::size_t slot, std::size_t residual, const double* r,
                                        const LossWeight& weight) const {
  const std::size_t rows = structure_.rows[slot], stride = structure_.stride()[slot];
  double squares = 0;
  for (std::size_t i = 0; i < rows; ++i) squares += r[i] * r[i];
  const double shrink = 1 / (1 + weight.along * squares);
  for (std::size_t j = 0; j < stride; ++j) {
    if (j == residual) continue;
    double sum = 0;
    for (std::size_t i = 0; i < rows; ++i) sum += r[i] * static_cast<double>(record[i * stride + j]);
    for (std::size_t i = 0; i < rows; ++i)
      record[i * stride + j] += static_cast<T>(weight.along * r[i] * sum);
  }
  for (std::size_t i = 0; i < rows; ++i) record[i * stride + residual] *= static_cast<T>(shrink);
}

template <class T>
void BlockModel::hold(std::span<const std::uint8_t> held) {
  const BlockStructure& s = structure_;
  T* J = storage<T>().data();
  for (std::size_t slot = 0; slot < s.list.blocks(); ++slot) {
    for (std::uint32_t k = s.list.first[slot]; k < s.list.first[slot + 1]; ++k) {
      if (s.local_column()[k] < 0) continue;
      const std::uint32_t p = s.list.parameters[k];
      const auto first = static_cast<std::size_t>(s.tangent_offset(p));
      for (std::size_t c = 0; c < static_cast<std::size_t>(problem_.parameters[p].tangent()); ++c) {
        if (!held[first + c]) continue;
        T* at = J + s.record()[slot] + static_cast<std::size_t>(s.local_column()[k]) + c;
        for (std::size_t i = 0; i < s.rows[slot]; ++i) at[i * s.stride()[slot]] = T(0);
      }
    }
  }
}

template <class T>
double BlockModel::promised(std::span<const double> step) const {
  const BlockStructure& s = structure_;
  const T* J = records<T>();
  double total = 0;
  std::vector<double> moved;  // J s of one residual block
  for (std::size_t point = 0; point < s.points; ++point) {
    for (std::size_t slot = s.slot_first[point]; slot < s.slot_first[point + 1]; ++slot) {
      moved.assign(s.rows[slot], 0.0);
      for (std::uint32_t k = s.list.first[slot]; k < s.list.first[slot + 1]; ++k) {
        if (s.local_column()[k] < 0) continue;
        const std::uint32_t p = s.list.parameters[k];
        const double* delta = step.data() + s.tangent_offset(p);
        const T* row = J + s.record()[slot] + static_cast<std::size_t>(s.local_column()[k]);
        for (double& m : moved) {
          for (int c = 0; c < problem_.parameters[p].tangent(); ++c)
            m += static_cast<double>(row[c]) * delta[c];
          row += s.stride()[slot];
        }
      }
      const T* residual = J + s.record()[slot] + s.point_size[point];
      for (std::size_t i = 0; i < moved.size(); ++i)
        total -= moved[i] * (static_cast<double>(residual[i * s.stride()[slot]]) + 0.5 * moved[i]);
    }
  }
  return total;
}

std::vector<double> BlockModel::times(std::span<const double> step) const {
  const BlockStructure& s = structure_;
  const double* J = records<double>();
  std::vector<double> out(s.residuals, 0.0);
  for (std::size_t slot = 0; slot < s.list.blocks(); ++slot) {
    for (std::uint32_t k = s.list.first[slot]; k < s.list.first[slot + 1]; ++k) {
      if (s.local_column()[k] < 0) continue;
      const std::uint32_t p = s.list.parameters[k];
      const double* delta = step.data() + s.tangent_offset(p);
      const double* row = J + s.record()[slot] + static_cast<std::size_t>(s.local_column()[k]);
      for (std::size_t i = 0; i < s.rows[slot]; ++i, row += s.stride()[slot]) {
        for (int c = 0; c < problem_.parameters[p].tangent(); ++c)
          out[s.list.row[slot] + i] += row[c] * delta[c];
      }
    }
  }
  return out;
}

template void BlockModel::hold<float>(std::span<const std::uint8_t>);
template void BlockModel::hold<double>(std::span<const std::uint8_t>);
template double BlockModel::promised<float>(std::span<const double>) const;
template double BlockModel::promised<double>(std::span<const double>) const;
template void BlockModel::linearize<float>(std::span<const double>, std::span<const double>);
template void BlockModel::linearize<double>(std::span<const double>, std::span<const double>);
template void BlockModel::finish<float>(std::size_t, std::size_t);
template void BlockModel::finish<double>(std::size_t, std::size_t);

bool BlockModel::plus(std::span<const double> x, std::span<const double> step,
                      std::vector<double>& out) const {
  out.assign(x.begin(), x.end());
  const auto move = [&](std::uint32_t p, const double* delta) {
    const ParameterBlock& block = problem_.parameters[p];
    const std::size_t at = structure_.list.offsets[p];
    if (block.manifold) {
      block.manifold->plus(x.data() + at, delta, out.data() + at);
    } else {
      for (int i = 0; i < block.size; ++i) out[at + static_cast<std::size_t>(i)] += delta[i];
    }
  };
  for (std::size_t k = 0; k < structure_.point_parameter.size(); ++k)
    move(structure_.point_parameter[k], step.data() + structure_.point_offset[k]);
  for (const std::uint32_t p : structure_.camera_parameter)
    move(p, step.data() + structure_.tangent_offset(p));
  return bounds_.any() && bounds_.project(out);
}

bool BlockModel::moved_residuals(std::span<const double> x, std::span<const double> r,
                                 std::span<const double> step, double h, std::vector<double>& moved) {
  std::vector<double> part(step.begin(), step.end()), there;
  for (double& s : part) s *= h;
  if (plus(x, part, there) || !std::isfinite(cost(there, moved))) return false;
  for (std::size_t slot = 0; slot < structure_.list.blocks(); ++slot) {
    const std::size_t first = structure_.list.row[slot], rows = structure_.rows[slot];
    const double weight = weight_of(slot, r.data() + first).root / h;
    for (std::size_t i = first; i < first + rows; ++i) moved[i] = weight * (moved[i] - r[i]);
  }
  return true;
}

double BlockModel::scaled_size(std::span<const double> x, std::span<const double> scale) const {
  double sum = 0;
  const auto add = [&](std::uint32_t p, std::size_t first) {
    const ParameterBlock& block = problem_.parameters[p];
    const auto tangent = static_cast<std::size_t>(block.tangent());
    // On a manifold, the length of the block replaces the size of each number.
    double length = 0;
    for (int i = 0; i < block.size; ++i) {
      const double v = x[structure_.list.offsets[p] + static_cast<std::size_t>(i)];
      length += v * v;
      if (!block.manifold) sum += std::pow(v * scale[first + static_cast<std::size_t>(i)], 2);
    }
    for (std::size_t j = 0; block.manifold && j < tangent; ++j)
      sum += length * scale[first + j] * scale[first + j];
  };
  for (std::size_t k = 0; k < structure_.point_parameter.size(); ++k)
    add(structure_.point_parameter[k], structure_.point_offset[k]);
  for (const std::uint32_t p : structure_.camera_parameter)
    add(p, static_cast<std::size_t>(structure_.tangent_offset(p)));
  return std::sqrt(sum);
}

void BlockModel::distrust(std::string why) {
  keep_counters();
  evaluator_.distrust(std::move(why));
}

// Accumulates the counters and ends all passes.
void BlockModel::keep_counters() {
  earlier_.resize(parts());
  for (std::uint32_t c = 0; c < parts(); ++c) earlier_[c] = counters(c);
  passes_.clear();
}

KernelCounters BlockModel::counters(std::uint32_t component) const {
  KernelCounters all = component < earlier_.size() ? earlier_[component] : KernelCounters();
  for (const auto& pass : passes_.all()) all.add(pass->counters(component));
  return all;
}

KernelCounters BlockModel::counters() const {
  KernelCounters all;
  for (std::uint32_t c = 0; c < parts(); ++c) all.add(counters(c));
  return all;
}

std::size_t BlockModel::bytes() const {
  return J_f32_.capacity() * sizeof(float) + J_f64_.capacity() * sizeof(double) + evaluator_.bytes();
}

}  // namespace nlsq::inline v0
