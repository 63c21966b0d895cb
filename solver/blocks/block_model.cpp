// Implements BlockModel: evaluates residuals, cost and J of a block problem, with losses and manifolds.
#include "blocks/block_model.hpp"

#include "blocks/record_rows.hpp"
#include "blocks/recording_place.hpp"
#include "support/all_finite.hpp"
#include "support/constants.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kMostTasks = 32;
constexpr double kThreadWork = 1e6;      // in f64 adds, about 50 µs: threads do not pay for smaller tasks
constexpr std::size_t kSumSlots = 1024;  // residual blocks whose costs are summed together

TaskRunner runner(const Parallelism& parallelism) {
  return [&parallelism](std::size_t count, const std::function<void(std::size_t)>& task) {
    run_tasks(count, parallelism, task);
  };
}

// Calls visit(parameter block, its first tangent index) for each block that steps move.
void for_each_moved(const BlockStructure& s, const auto& visit) {
  for (std::size_t k = 0; k < s.point_parameter.size(); ++k) visit(s.point_parameter[k], s.point_offset[k]);
  for (const std::uint32_t p : s.camera_parameter) visit(p, static_cast<std::size_t>(s.tangent_offset(p)));
}

// Calls record(recording_place()). Calls record(x) if that is the same point, or if the functions of many
// blocks cannot be recorded there. record(point) returns the number of such blocks.
void record_beside(const Problem::Impl& problem, const BlockStructure& structure, std::span<const double> x,
                   const std::function<std::size_t(std::span<const double>)>& record) {
  constexpr std::size_t kMany = 16;  // one block in so many
  const std::vector<double> place = recording_place(problem, structure, x);
  try {
    if (!std::ranges::equal(place, x) && kMany * record(place) <= structure.list.blocks()) return;
  } catch (...) {  // a function cannot be called there, which says nothing about x
  }
  record(x);
}

// Returns an evaluator whose functions are recorded at the point that record_beside() chooses. If `earlier`
// is not null, the evaluator takes over its recordings, and `earlier` must not be used any more.
BlockEvaluator recorded(const Problem::Impl& problem, const BlockStructure& structure,
                        std::span<const double> x, const TaskRunner& run, BlockEvaluator* earlier) {
  std::optional<BlockEvaluator> found;
  record_beside(problem, structure, x, [&](std::span<const double> place) {
    BlockEvaluator* const with = std::exchange(earlier, nullptr);
    if (with) found.emplace(structure.list, x, std::move(*with), run, place);
    else found.emplace(structure.list, x, run, place);
    return found->refused();
  });
  return *std::move(found);
}

}  // namespace

BlockModel::BlockModel(const Problem::Impl& problem, const BlockStructure& structure,
                       std::span<const double> x, const Parallelism& parallelism,
                       const ProblemControl* control, BlockModel* earlier)
    : problem_(problem), structure_(structure), parallelism_(&parallelism), control_(control),
      bounds_(problem, structure), evaluator_(recorded(problem, structure, x, runner(parallelism),
                                                       earlier ? &earlier->evaluator_ : nullptr)),
      finish_(problem, structure), J_f32_(structure), J_f64_(structure),
      windowed_(structure, evaluator_, passes_, finish_) {
  if (!earlier) return;
  std::swap(J_f32_.numbers, earlier->J_f32_.numbers);
  if (!windowed_.in_use()) std::swap(J_f64_.numbers, earlier->J_f64_.numbers);
  if (structure.zeros_in_records) J_f32_.numbers.clear(), J_f64_.numbers.clear();
}

void BlockModel::begin(const Parallelism& parallelism, const ProblemControl* control) {
  parallelism_ = &parallelism;
  control_ = control;
  bounds_ = BlockBounds(problem_, structure_);
  announced_.clear();
  threads_ = 1;
  windowed_.forget();
  evaluator_.carry_all();
}

void BlockModel::end() {
  passes_.clear();  // with their counters
  earlier_.clear();
}

template <>
WholeRecords<float>& BlockModel::storage() {
  return J_f32_;
}
template <>
WholeRecords<double>& BlockModel::storage() {
  return J_f64_;
}
// Returns true if one thread should evaluate all blocks, because the derivatives are cheap. It is false if a
// function is not recorded, because its cost is unknown.
bool BlockModel::alone() const {
  return evaluator_.all_recorded() && evaluator_.jacobian_cost() < kThreadWork;
}

// Distributes tiles over tasks and calls work(pass, tile, task).
void BlockModel::for_each_tile(const std::function<void(BlockPass&, std::size_t, std::size_t)>& work) {
  const std::size_t tiles = evaluator_.tiles(), tasks = std::min(tiles, kMostTasks);
  threads_ = std::max(
      threads_, run_tasks(tasks, alone() ? Parallelism{1, {}} : *parallelism_, [&](std::size_t task) {
        const IdlePool<BlockPass>::Loan pass(passes_);
        for (std::size_t tile = task * tiles / tasks; tile < (task + 1) * tiles / tasks; ++tile)
          work(*pass, tile, task);
      }));
}

// Calls the callbacks on this thread, before any function.
void BlockModel::announce(std::span<const double> x, bool derivatives) {
  if (!control_ || !control_->before_evaluation) return;
  const bool fresh = !std::ranges::equal(x, announced_);
  if (fresh) announced_.assign(x.begin(), x.end());
  control_->before_evaluation(x, derivatives, fresh);
}

void BlockModel::record_again(std::span<const double> x) {
  windowed_.forget();
  keep_counters();
  record_beside(problem_, structure_, x, [&](std::span<const double> place) {
    evaluator_.classify(x, runner(*parallelism_), place);
    return evaluator_.refused();
  });
  apply_formats();
}

double BlockModel::cost(std::span<const double> x, std::vector<double>& r) {
  r.resize(structure_.residuals);
  // x is not a number where a manifold has no point for a step. No function is called there.
  if (std::ranges::any_of(x, [](double v) { return std::isnan(v); })) {
    std::ranges::fill(r, kNaN);
    return kNaN;
  }
  announce(x, false);
  std::array<std::size_t, kMostTasks> left{};
  for_each_tile([&](BlockPass& pass, std::size_t tile, std::size_t task) {
    left[task] += pass.residuals(tile, x, r.data());
  });
  left_ = std::accumulate(left.begin(), left.end(), std::size_t{0});
  return cost_of(r);
}

double BlockModel::cost_of(std::span<const double> r) const {
  const EvenView<std::uint32_t> row = structure_.list.row.view(), rows = structure_.rows.view();
  double total = 0;
  const std::size_t slots = structure_.list.blocks();
  for (std::size_t first = 0; first < slots; first += kSumSlots) {
    const std::size_t last = std::min(slots, first + kSumSlots);
    double sum = 0;
    for (std::size_t slot = first; slot < last; ++slot) {
      double squares = 0;
      const std::size_t begin = row[slot], end = begin + rows[slot];
      for (std::size_t i = begin; i < end; ++i) squares += r[i] * r[i];
      if (structure_.losses.empty()) {
        sum += squares;
        continue;
      }
      // Some losses, such as Tukey's, have a finite value even for residuals that are NaN or infinite.
      if (!std::isfinite(squares) && !all_finite(r.subspan(begin, rows[slot]))) return kNaN;
      sum += structure_.losses[slot](squares).rho;
    }
    total += sum;
  }
  return 0.5 * total;
}

template <class T>
void BlockModel::linearize(std::span<const double> x, std::span<const double> r) {
  announce(x, true);
  finish_.begin(x, r, losses_applied_);
  windowed_.forget();
  in_windows_ = std::is_same_v<T, double> && windowed_.in_use();
  if (in_windows_) {
    windowed_.linearize(x, *parallelism_);
    return;
  }
  std::vector<T>& J = storage<T>().numbers;
  J.resize(structure_.record_size);
  std::array<std::size_t, kMostTasks> left{};
  if constexpr (std::is_same_v<T, float>) evaluator_.move_samples();
  for_each_tile([&](BlockPass& pass, std::size_t tile, std::size_t task) {
    left[task] += pass.jacobian(tile, x, J.data());
  });
  left_by_derivatives_ = std::accumulate(left.begin(), left.end(), std::size_t{0});
  if constexpr (std::is_same_v<T, float>) heed_samples(x);
  const BlockStructure& s = structure_;
  run_tasks(s.chunk.size() - 1, *parallelism_, [&](std::size_t c) {
    finish_.finish(s.slot_first[s.chunk[c]], s.slot_first[s.chunk[c + 1]], all_records<T>());
  });
}

double BlockModel::difference_error() {
  std::vector<DifferenceSums> sums(structure_.list.offsets.back() +
                                   static_cast<std::size_t>(structure_.list.sizes.back()));
  for (const auto& pass : passes_.all()) {
    const std::vector<DifferenceSums> taken = pass->take_difference_sums();
    for (std::size_t i = 0; i < taken.size(); ++i) {
      sums[i].slopes += taken[i].slopes;
      sums[i].errors += taken[i].errors;
    }
  }
  double largest = 0;
  for (std::size_t p = 0; p < problem_.parameters.size(); ++p) {
    const ParameterBlock& block = problem_.parameters[p];
    DifferenceSums all;
    for (std::size_t i = 0; i < static_cast<std::size_t>(block.size); ++i) {
      const DifferenceSums& of = sums[structure_.list.offsets[p] + i];
      if (!block.manifold) all = DifferenceSums();
      all.slopes += of.slopes;
      all.errors += of.errors;
      if (block.manifold && i + 1 < static_cast<std::size_t>(block.size)) continue;
      if (all.errors > 0) largest = std::max(largest, std::sqrt(all.errors / all.slopes));
    }
  }
  return largest;
}

void BlockModel::return_to(std::span<const double> x, std::span<const double> r) {
  if (windowed_.in_use()) linearize<double>(x, r);
  else finish_.begin(x, r, losses_applied_);
}

void BlockModel::settle(std::span<const double> x) {
  const std::size_t left = in_windows_ ? windowed_.left() : left_by_derivatives_;
  constexpr std::size_t kWorth = 4;  // a recording takes as long as so many derivatives by dual numbers
  const std::size_t blocks = structure_.list.blocks();
  left_since_ += left;
  if (left <= 16 + blocks / 64 || left_since_ <= kWorth * blocks) return;
  left_since_ = 0;
  keep_all();
  keep_counters();
  evaluator_.classify(x, runner(*parallelism_));
  apply_formats();
}

template <class T>
void BlockModel::hold(std::span<const std::uint8_t> held) {
  finish_.hold(held);
  if (std::is_same_v<T, double> && windowed_.in_use()) windowed_.clear_held();
  else finish_.clear_held(0, structure_.list.blocks(), all_records<T>());
}

template <class T>
double BlockModel::promised(std::span<const double> step) {
  const BlockStructure& s = structure_;
  double total = 0;
  std::vector<double> moved;  // J s of one residual block
  records<T>().sweep([&](std::size_t first, std::size_t last, const RecordView<T>& J) {
    for (std::size_t point = first; point < last; ++point) {
      for (std::size_t slot = s.slot_first[point]; slot < s.slot_first[point + 1]; ++slot) {
        moved.assign(s.rows[slot], 0.0);
        add_times(slot, J.at(s.record()[slot]), step, moved.data());
        const T* residual = J.at(s.record()[slot]) + s.point_size[point];
        for (std::size_t i = 0; i < moved.size(); ++i)
          total -= moved[i] * (static_cast<double>(residual[i * s.stride()[slot]]) + 0.5 * moved[i]);
      }
    }
  });
  return total;
}

// Adds J times the step, for the rows of one residual block.
template <class T>
void BlockModel::add_times(std::size_t slot, const T* record, std::span<const double> step,
                           double* out) const {
  const BlockStructure& s = structure_;
  const std::int32_t* columns = s.local_column().data() + s.list.first[slot];
  for (const std::uint32_t p : s.list.of(slot)) {
    const std::int32_t column = *columns++;
    if (column < 0) continue;
    const double* delta = step.data() + s.tangent_offset(p);
    const T* row = record + static_cast<std::size_t>(column);
    const std::size_t rows = s.rows[slot], stride = s.stride()[slot];
    const int tangent = problem_.parameters[p].tangent();
    for (std::size_t i = 0; i < rows; ++i, row += stride) {
      double sum = out[i];
      for (int c = 0; c < tangent; ++c) sum += static_cast<double>(row[c]) * delta[c];
      out[i] = sum;
    }
  }
}

std::vector<double> BlockModel::times(std::span<const double> step) {
  std::vector<double> out(structure_.residuals, 0.0);
  for_each_record_row(structure_, records<double>(),
                      [&](const JacobianRow& row) { out[row.number] = row.times(step.data()); });
  return out;
}

template void BlockModel::hold<float>(std::span<const std::uint8_t>);
template void BlockModel::hold<double>(std::span<const std::uint8_t>);
template double BlockModel::promised<float>(std::span<const double>);
template double BlockModel::promised<double>(std::span<const double>);
template void BlockModel::linearize<float>(std::span<const double>, std::span<const double>);
template void BlockModel::linearize<double>(std::span<const double>, std::span<const double>);

bool BlockModel::plus(std::span<const double> x, std::span<const double> step,
                      std::vector<double>& out) const {
  out.assign(x.begin(), x.end());
  for_each_moved(structure_, [&](std::uint32_t p, std::size_t first) {
    const ParameterBlock& block = problem_.parameters[p];
    const std::size_t at = structure_.list.offsets[p];
    const double* const delta = step.data() + first;
    if (block.manifold) {
      block.manifold->plus(x.data() + at, delta, out.data() + at);
    } else {
      for (int i = 0; i < block.size; ++i) out[at + static_cast<std::size_t>(i)] += delta[i];
    }
  });
  return bounds_.any() && bounds_.project(out);
}

bool BlockModel::moved_residuals(std::span<const double> x, std::span<const double> r,
                                 std::span<const double> step, double h, std::vector<double>& moved) {
  std::vector<double> there;
  std::vector<double>& part = moved;  // until the residuals overwrite it
  part.assign(step.begin(), step.end());
  for (double& s : part) s *= h;
  if (plus(x, part, there) || !std::isfinite(cost(there, moved))) return false;
  for (std::size_t slot = 0; slot < structure_.list.blocks(); ++slot) {
    const std::size_t first = structure_.list.row[slot], rows = structure_.rows[slot];
    const double weight = (losses_applied_ ? weight_of(structure_, slot, r.data() + first).root : 1) / h;
    for (std::size_t i = first; i < first + rows; ++i) moved[i] = weight * (moved[i] - r[i]);
  }
  return true;
}

double BlockModel::scaled_size(std::span<const double> x, std::span<const double> scale) const {
  double sum = 0;
  for_each_moved(structure_, [&](std::uint32_t p, std::size_t first) {
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
  });
  return std::sqrt(sum);
}

void BlockModel::distrust(std::string why) {
  windowed_.forget();
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
  return J_f32_.numbers.capacity() * sizeof(float) + J_f64_.numbers.capacity() * sizeof(double) +
         windowed_.bytes() + evaluator_.bytes();
}

}  // namespace nlsq::inline v0
