// Evaluates residual blocks by shared programs, and by the user's code if a block has no program.
#include "blocks/block_evaluator.hpp"

#include "blocks/block_calls.hpp"
#include "blocks/block_groups.hpp"
#include "blocks/block_lanes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>

namespace nlsq::inline v0 {

namespace {

constexpr std::uint32_t kSample = 64;    // blocks of a program that are compared with f64
constexpr std::size_t kLeastLanes = 64;  // lanes of a program are computed from a multiple of this on

class GroupPass final : public BlockPass {
 public:
  GroupPass(const BlockList& list, const BlockGroups& groups)
      : list_(list), groups_(groups), calls_(list, groups), counters_(components(list)) {}

  std::size_t residuals(std::size_t tile, std::span<const double> x, double* r) override {
    const BlockTile& t = groups_.tiles[tile];
    if (t.group == BlockTile::kSlow) {
      calls_.residuals(groups_.slow, t.first, t.first + t.count, x, r);
      return 0;
    }
    const BlockGroup& group = groups_.groups[t.group];
    value_.load(group, group.program->value);
    value_.gather(group, groups_.kinds[group.kind], t.first, t.count, x);
    value_.run(group, t.count, counters_[group.component]);
    const auto rows = static_cast<std::size_t>(group.program->residuals);
    const EvenView<std::uint32_t> row_of = list_.row.view();
    for (std::size_t i = 0; i < rows; ++i) {
      const double* out = value_.output(i);
      for (std::uint32_t l = 0; l < t.count; ++l) r[row_of[group.blocks[t.first + l]] + i] = out[l];
    }
    std::size_t left = 0;
    for (std::uint32_t l = 0; group.program->guarded && l < t.count; ++l) {
      if (value_.output(rows)[l] == 1) continue;
      ++left;
      calls_.residuals(group.blocks[t.first + l], x, r);
    }
    return left;
  }

  std::size_t jacobian(std::size_t tile, std::span<const double> x, double* J) override {
    return fill(wide_, tile, x, J);
  }
  std::size_t jacobian_of(std::size_t first, std::size_t last, std::span<const double> x,
                          const RecordTarget<double>& J) override {
    std::size_t left = 0;
    for (const BlockGroup& group : groups_.groups) {
      const auto [begin, end] = range_of(group.blocks, first, last);
      for (std::size_t lane = begin; lane < end;) {
        const std::size_t from = lane / kLeastLanes * kLeastLanes, to = std::min(end, from + group.tile_rows);
        left += fill_lanes(wide_, group, {from, to, lane}, x, J);
        lane = to;
      }
    }
    const auto [begin, end] = range_of(groups_.slow, first, last);
    calls_.jacobian(groups_.slow, begin, end, x, J);
    return left;
  }
  std::size_t jacobian(std::size_t tile, std::span<const double> x, float* J) override {
    const std::uint32_t group = groups_.tiles[tile].group;
    if (group != BlockTile::kSlow && groups_.groups[group].wide) return fill(wide_, tile, x, J);
    const std::size_t left = fill(narrow_, tile, x, J);
    if (group != BlockTile::kSlow && groups_.sampled(tile)) sample(tile, x);
    return left;
  }
  void reference(std::size_t tile, std::span<const double> x, double* r) override {
    const BlockTile& t = groups_.tiles[tile];
    const auto& blocks = t.group == BlockTile::kSlow ? groups_.slow : groups_.groups[t.group].blocks;
    calls_.residuals(blocks, t.first, t.first + t.count, x, r);
  }
  void rounding(std::size_t tile, std::span<const double> x, double* bounds, double most) override {
    const BlockTile& t = groups_.tiles[tile];
    for (std::uint32_t l = t.first; l < t.first + t.count; ++l) {
      const std::uint32_t block =
          t.group == BlockTile::kSlow ? groups_.slow[l] : groups_.groups[t.group].blocks[l];
      double* to = bounds + list_.row[block];
      if (t.group == BlockTile::kSlow) bound_slow(block, x, to, most);
      else bound_lane(groups_.groups[t.group], l, x, to, most);
    }
  }
  std::vector<SampledError> take_samples() override { return std::exchange(samples_, {}); }
  std::vector<DifferenceSums> take_difference_sums() override { return calls_.take_difference_sums(); }
  KernelCounters counters() const override {
    KernelCounters all;
    for (const KernelCounters& of_component : counters_) all.add(of_component);
    return all;
  }
  KernelCounters counters(std::uint32_t component) const override {
    return component < counters_.size() ? counters_[component] : KernelCounters();
  }

 private:
  static std::size_t components(const BlockList& list) {
    return list.component.empty() ? 1 : 1 + *std::ranges::max_element(list.component);
  }

  void bound_lane(const BlockGroup& group, std::uint32_t lane, std::span<const double> x, double* bounds,
                  double most) {
    const BlockKind& kind = groups_.kinds[group.kind];
    x_.resize(inputs_of(kind));
    gather_block(list_, group.blocks[lane], x, x_.data());
    r_.clear();
    for (std::size_t c = 0; c < group.program->plan.column.size(); ++c)
      r_.push_back(constant_of(group, c, lane));
    bound_rounding(kind.family.recordings()[group.variant], x_.data(), r_, bounds, most);
  }

  void bound_slow(std::uint32_t block, std::span<const double> x, double* bounds, double most) {
    const BlockFunction& function = list_.function(block);
    BlockReplay replay(groups_.kinds[groups_.kind(block)].sizes);
    x_.resize(inputs_of(groups_.kinds[groups_.kind(block)]));
    gather_block(list_, block, x, x_.data());
    if (!is_traced(function) || !replay.bound(function, x_.data(), bounds, most))
      std::fill_n(bounds, function.residuals(), 0.0);
  }

  // Computes J in the lanes' format and stores it in the format of `J`.
  template <class T, class Stored>
  std::size_t fill(Lanes<T>& lanes, std::size_t tile, std::span<const double> x, Stored* J) {
    const BlockTile& t = groups_.tiles[tile];
    const RecordTarget<Stored> all{.records = J};
    if (t.group == BlockTile::kSlow) {
      calls_.jacobian(groups_.slow, t.first, t.first + t.count, x, all);
      return 0;
    }
    return fill_lanes(lanes, groups_.groups[t.group], {t.first, t.first + t.count, t.first}, x, all);
  }

  template <class T, class Stored>
  std::size_t fill_lanes(Lanes<T>& lanes, const BlockGroup& group, LaneRange t, std::span<const double> x,
                         const RecordTarget<Stored>& J) {
    const std::size_t count = t.last - t.first;
    lanes.load(group, group.program->jacobian);
    lanes.gather(group, groups_.kinds[group.kind], t.first, count, x);
    lanes.run(group, count, counters_[group.component]);
    scatter(lanes, group, t, J);
    std::size_t left = 0;
    const std::size_t guard =
        static_cast<std::size_t>(group.program->residuals) * group.program->wanted.size();
    for (std::size_t l = t.stored; group.program->guarded && l < t.last; ++l) {
      if (lanes.output(guard)[l - t.first] == T(1)) continue;
      ++left;
      calls_.jacobian(group.blocks[l], x, J);
    }
    return left;
  }

  // Returns the positions of the blocks [first, last) in an ascending list.
  static std::pair<std::size_t, std::size_t> range_of(const std::vector<std::uint32_t>& blocks,
                                                      std::size_t first, std::size_t last) {
    const auto begin = std::ranges::lower_bound(blocks, first),
               end = std::lower_bound(begin, blocks.end(), last);
    return {static_cast<std::size_t>(begin - blocks.begin()), static_cast<std::size_t>(end - blocks.begin())};
  }

  // Copies the columns of the lanes to the rows of the blocks. It goes block by block, because a block's rows
  // are contiguous.
  template <class T, class Stored>
  void scatter(const Lanes<T>& lanes, const BlockGroup& group, const LaneRange& t,
               const RecordTarget<Stored>& J) {
    const BlockKind& kind = groups_.kinds[group.kind];
    const auto rows = static_cast<std::size_t>(group.program->residuals);
    const std::size_t width = group.program->wanted.size();
    std::vector<const T*>& from = columns<T>();
    from.resize(rows * width);
    for (std::size_t k = 0; k < from.size(); ++k) from[k] = lanes.output(k);
    std::size_t w = 0;
    int start = 0;
    for (std::size_t k = 0; k < kind.sizes.size(); start += kind.sizes[k++]) {
      if (w == width || group.program->wanted[w] != start) continue;  // the parameter is fixed in all blocks
      const auto size = static_cast<std::size_t>(kind.sizes[k]);
      const LaneColumns<T> columns{from.data() + w, rows, width};
      // Points and poses are the most frequent. Their loops have a known length.
      if (size == 3) copy_lanes(list_, group, t, k, columns, 3, J);
      else if (size == 6) copy_lanes(list_, group, t, k, columns, 6, J);
      else copy_lanes(list_, group, t, k, columns, size, J);
      w += size;
    }
  }
  // Evaluates the first blocks of a tile again in f64 and compares each input. The tile was evaluated in f32.
  void sample(std::size_t tile, std::span<const double> x) {
    const BlockTile& t = groups_.tiles[tile];
    const BlockGroup& group = groups_.groups[t.group];
    const std::uint32_t count = std::min(t.count, kSample);
    wide_.load(group, group.program->jacobian);
    wide_.gather(group, groups_.kinds[group.kind], t.first, count, x);
    wide_.run(group, count, counters_[group.component]);
    const auto rows = static_cast<std::size_t>(group.program->residuals);
    const std::size_t width = group.program->wanted.size();
    const auto follows = [&](std::uint32_t l) {
      return !group.program->guarded ||
             (wide_.output(rows * width)[l] == 1 && narrow_.output(rows * width)[l] == 1);
    };
    double worst = 0;
    for (std::size_t j = 0; j < width; ++j) {
      double squares = 0, differences = 0;
      for (std::size_t i = 0; i < rows; ++i) {
        const double* exact = wide_.output(i * width + j);
        const float* rounded = narrow_.output(i * width + j);
        for (std::uint32_t l = 0; l < count; ++l) {
          if (!follows(l) || !std::isfinite(exact[l])) continue;
          squares += exact[l] * exact[l];
          differences += (rounded[l] - exact[l]) * (rounded[l] - exact[l]);
        }
      }
      if (differences == 0) continue;
      const double error = std::sqrt(differences / squares);
      worst = std::max(worst, std::isnan(error) ? std::numeric_limits<double>::infinity() : error);
    }
    samples_.push_back({t.group, worst});
  }

  template <class T>
  std::vector<const T*>& columns() {
    if constexpr (std::is_same_v<T, double>) return columns_f64_;
    else return columns_f32_;
  }

  const BlockList& list_;
  const BlockGroups& groups_;
  BlockCalls calls_;
  Lanes<double> value_, wide_;
  Lanes<float> narrow_;
  std::vector<const double*> columns_f64_;
  std::vector<const float*> columns_f32_;
  std::vector<double> x_, r_;
  std::vector<SampledError> samples_;
  std::vector<KernelCounters> counters_;  // for each component
};

}  // namespace

struct BlockEvaluator::Impl {
  const BlockList& list;
  BlockGroups groups;
};

BlockEvaluator::BlockEvaluator(const BlockList& list, std::span<const double> x, const TaskRunner& run,
                               std::span<const double> place)
    : impl_(std::make_unique<Impl>(Impl{list, group_blocks(list, x, {}, run, place)})) {}
BlockEvaluator::BlockEvaluator(const BlockList& list, std::span<const double> x, BlockEvaluator&& earlier,
                               const TaskRunner& run, std::span<const double> place)
    : impl_(std::make_unique<Impl>(
          Impl{list, group_blocks(list, x, std::move(earlier.impl_->groups), run, place)})) {}
BlockEvaluator::~BlockEvaluator() = default;
BlockEvaluator::BlockEvaluator(BlockEvaluator&&) noexcept = default;

void BlockEvaluator::classify(std::span<const double> x, const TaskRunner& run,
                              std::span<const double> place) {
  impl_->groups.groups.clear();  // the kinds of blocks are kept
  impl_->groups = group_blocks(impl_->list, x, std::move(impl_->groups), run, place);
}

void BlockEvaluator::distrust(std::string why) {
  BlockGroups& groups = impl_->groups;
  groups.groups.clear();
  groups.slow.resize(impl_->list.blocks());
  std::iota(groups.slow.begin(), groups.slow.end(), 0U);
  groups.note = std::move(why);
  groups.reused = groups.left_to_dual_numbers = 0;
  groups.cost_of_dual_numbers = 0;
  groups.cut();
}

std::size_t BlockEvaluator::carried() const { return impl_->groups.reused; }
void BlockEvaluator::carry_all() { impl_->groups.reused = impl_->list.blocks() - impl_->groups.slow.size(); }
std::vector<BlockPlace> BlockEvaluator::places() const {
  std::vector<BlockPlace> places(impl_->list.blocks());
  for (std::uint32_t g = 0; g < impl_->groups.groups.size(); ++g) {
    const auto& blocks = impl_->groups.groups[g].blocks;
    for (std::uint32_t lane = 0; lane < blocks.size(); ++lane) places[blocks[lane]] = {g, lane};
  }
  return places;
}

BlockProgramInfo BlockEvaluator::program(std::size_t number) const {
  const BlockGroup& group = impl_->groups.groups[number];
  return {group.component, group.blocks.size(), group.wide};
}
void BlockEvaluator::set_wide(std::size_t program, bool wide) { impl_->groups.groups[program].wide = wide; }
void BlockEvaluator::move_samples() { ++impl_->groups.round; }
void BlockEvaluator::extrapolate_differences(std::span<const double> x) {
  BlockGroups& groups = impl_->groups;
  std::vector<double> shares = block_step_shares(impl_->list, groups, x);
  // Where residuals are small beside their terms, as they are at a minimum, a step looks curved because of
  // rounding. So steps that were found to need more length at the start keep it.
  for (std::size_t j = 0; j < shares.size(); ++j)
    if (groups.step_shares[j] > 1) shares[j] = std::max(shares[j], groups.step_shares[j]);
  groups.first_steps = block_first_steps(shares, groups.least_sizes, x);
}
void BlockEvaluator::end_extrapolation() { impl_->groups.first_steps.clear(); }
std::size_t BlockEvaluator::program_of(std::size_t tile) const {
  const std::uint32_t group = impl_->groups.tiles[tile].group;
  return group == BlockTile::kSlow ? programs() : group;
}

bool BlockEvaluator::calls_functions(std::size_t first, std::size_t last) const {
  const auto& slow = impl_->groups.slow;
  const auto next = std::ranges::lower_bound(slow, first);
  return next != slow.end() && *next < last;
}

std::size_t BlockEvaluator::tiles() const { return impl_->groups.tiles.size(); }
std::size_t BlockEvaluator::tile_blocks(std::size_t tile) const { return impl_->groups.tiles[tile].count; }
std::unique_ptr<BlockPass> BlockEvaluator::begin() const {
  return std::make_unique<GroupPass>(impl_->list, impl_->groups);
}

BlockCounts BlockEvaluator::counts() const {
  BlockCounts counts;
  for (const BlockGroup& group : impl_->groups.groups) counts.traced += group.blocks.size();
  for (const std::uint32_t block : impl_->groups.slow) {
    switch (impl_->list.function(block).derivatives_by()) {
      case BlockFunction::Derivatives::own: ++counts.own; break;
      case BlockFunction::Derivatives::differences: ++counts.differences; break;
      default: ++counts.dual;
    }
  }
  counts.left_to_dual_numbers = impl_->groups.left_to_dual_numbers;
  return counts;
}

bool BlockEvaluator::all_recorded() const {
  return impl_->groups.slow.size() == impl_->groups.left_to_dual_numbers;
}

std::size_t BlockEvaluator::refused() const { return impl_->groups.refused; }

const std::string& BlockEvaluator::note() const { return impl_->groups.note; }
std::size_t BlockEvaluator::programs() const { return impl_->groups.groups.size(); }

double BlockEvaluator::jacobian_cost() const {
  double cost = impl_->groups.cost_of_dual_numbers;
  for (const BlockGroup& group : impl_->groups.groups)
    cost += static_cast<double>(group.blocks.size()) * group.program->jacobian_cost;
  return cost;
}

std::size_t BlockEvaluator::bytes() const {
  std::size_t bytes = 0;
  for (const BlockGroup& group : impl_->groups.groups) {
    bytes += group.padded * (group.program->plan.columns.size() * sizeof(double) +
                             4 * (group.offsets.size() / std::max<std::size_t>(group.padded, 1))) +
             4 * group.blocks.size();
  }
  return bytes;
}

}  // namespace nlsq::inline v0
