#include <nlsq/block_evaluator.hpp>

#include "block_groups.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <type_traits>

namespace nlsq::inline v0 {

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Columns and registers of one program in one format.
template <class T>
class Lanes {
 public:
  void load(const BlockGroup& group, const TileProgram& program) {
    if (&program == program_) return;
    program_ = &program;
    stride_ = group.tile_rows;
    const auto vectors = static_cast<std::size_t>(program.columns + program.registers);
    const auto inputs = static_cast<std::size_t>(group.program->inputs);
    if (size_ < (vectors + inputs) * stride_) {
      size_ = (vectors + inputs) * stride_;
      storage_ = AlignedBuffer<T>(size_);
    }
    vectors_.resize(std::max(vectors, inputs + group.program->plan.columns.size()));
    for (std::size_t v = 0; v < vectors_.size(); ++v) vectors_[v] = storage_.data() + std::min(v, vectors) * stride_;
    if (program.once.empty()) return;
    KernelCounters fills;  // filling constants evaluates no block
    if constexpr (kDouble) kernels().run_f64(program.once.data(), program.once.size(), vectors_.data(), uniforms(group), stride_, &fills);
    else kernels().run_f32(program.once.data(), program.once.size(), vectors_.data(), uniforms(group), stride_, &fills);
  }

  void gather(const BlockGroup& group, const BlockKind& kind, std::size_t first, std::size_t count, std::span<const double> x) {
    const std::size_t lanes = std::min((count + 63) / 64 * 64, stride_);
    std::size_t input = 0;
    for (std::size_t k = 0; k < kind.sizes.size(); ++k) {
      const std::uint32_t* offsets = group.offsets.data() + k * group.padded + first;
      for (int i = 0; i < kind.sizes[k]; ++i, ++input) {
        if (!uses(input)) continue;
        T* column = vectors_[input];
        const double* from = x.data() + i;
        for (std::size_t l = 0; l < lanes; ++l) column[l] = static_cast<T>(from[offsets[l]]);
      }
    }
    for (std::size_t c = 0; c < group.program->plan.columns.size(); ++c) {
      if (!uses(input + c)) continue;
      const T* column;
      if constexpr (kDouble) column = group.constants.data() + c * group.padded + first;
      else column = group.constants_f32.data() + c * group.padded + first;
      vectors_[input + c] = const_cast<T*>(column);  // programs never write to columns
    }
  }

  void run(const BlockGroup& group, std::size_t count, KernelCounters& counters) {
    if constexpr (kDouble) {
      const auto& steps = program_ == &group.program->value ? group.value_f64 : group.jacobian_f64;
      kernels().run_steps_f64(steps.data(), steps.size(), vectors_.data(), uniforms(group), count, &counters);
    } else {
      kernels().run_steps_f32(group.jacobian_f32.data(), group.jacobian_f32.size(), vectors_.data(), uniforms(group), count, &counters);
    }
  }

  const T* output(std::size_t k) const { return vectors_[static_cast<std::size_t>(program_->outputs[k])]; }

 private:
  static constexpr bool kDouble = std::is_same_v<T, double>;
  bool uses(std::size_t column) const {
    return column < program_->column_used.size() && program_->column_used[column];
  }
  const T* uniforms(const BlockGroup& group) const {
    if constexpr (kDouble) return (program_ == &group.program->value ? group.value_uniforms : group.jacobian_uniforms).data();
    else return group.jacobian_uniforms_f32.data();
  }

  const TileProgram* program_ = nullptr;
  std::size_t stride_ = 0, size_ = 0;
  AlignedBuffer<T> storage_;
  std::vector<T*> vectors_;
};

class GroupPass final : public BlockPass {
 public:
  GroupPass(const BlockList& list, const BlockGroups& groups) : list_(list), groups_(groups) {
    for (const BlockKind& kind : groups.kinds) callers_.emplace_back(kind.sizes);
  }

  std::size_t residuals(std::size_t tile, std::span<const double> x, double* r) override {
    const BlockTile& t = groups_.tiles[tile];
    if (t.group == BlockTile::kSlow) {
      for (std::uint32_t i = 0; i < t.count; ++i) slow_residuals(groups_.slow[t.first + i], x, r);
      return 0;
    }
    const BlockGroup& group = groups_.groups[t.group];
    value_.load(group, group.program->value);
    value_.gather(group, groups_.kinds[group.kind], t.first, t.count, x);
    value_.run(group, t.count, counters_);
    const auto rows = static_cast<std::size_t>(group.program->residuals);
    for (std::size_t i = 0; i < rows; ++i) {
      const double* out = value_.output(i);
      for (std::uint32_t l = 0; l < t.count; ++l) r[list_.row[group.blocks[t.first + l]] + i] = out[l];
    }
    std::size_t left = 0;
    for (std::uint32_t l = 0; group.program->guarded && l < t.count; ++l) {
      if (value_.output(rows)[l] == 1) continue;
      ++left;
      slow_residuals(group.blocks[t.first + l], x, r);
    }
    return left;
  }

  std::size_t jacobian(std::size_t tile, std::span<const double> x, double* J) override { return fill(wide_, tile, x, J); }
  std::size_t jacobian(std::size_t tile, std::span<const double> x, float* J) override { return fill(narrow_, tile, x, J); }
  void reference(std::size_t tile, std::span<const double> x, double* r) override {
    const BlockTile& t = groups_.tiles[tile];
    const auto& blocks = t.group == BlockTile::kSlow ? groups_.slow : groups_.groups[t.group].blocks;
    for (std::uint32_t i = 0; i < t.count; ++i) slow_residuals(blocks[t.first + i], x, r);
  }
  const KernelCounters& counters() const override { return counters_; }

 private:
  template <class T>
  std::size_t fill(Lanes<T>& lanes, std::size_t tile, std::span<const double> x, T* J) {
    const BlockTile& t = groups_.tiles[tile];
    if (t.group == BlockTile::kSlow) {
      for (std::uint32_t i = 0; i < t.count; ++i) slow_jacobian(groups_.slow[t.first + i], x, J);
      return 0;
    }
    const BlockGroup& group = groups_.groups[t.group];
    lanes.load(group, group.program->jacobian);
    lanes.gather(group, groups_.kinds[group.kind], t.first, t.count, x);
    lanes.run(group, t.count, counters_);
    scatter(lanes, group, t, J);
    std::size_t left = 0;
    const std::size_t guard = static_cast<std::size_t>(group.program->residuals) * group.program->wanted.size();
    for (std::uint32_t l = 0; group.program->guarded && l < t.count; ++l) {
      if (lanes.output(guard)[l] == T(1)) continue;
      ++left;
      slow_jacobian(group.blocks[t.first + l], x, J);
    }
    return left;
  }

  // From columns of lanes to rows of blocks: block by block, whose rows lie together.
  template <class T>
  void scatter(const Lanes<T>& lanes, const BlockGroup& group, const BlockTile& t, T* J) {
    const BlockKind& kind = groups_.kinds[group.kind];
    const auto rows = static_cast<std::size_t>(group.program->residuals);
    const std::size_t width = group.program->wanted.size();
    std::vector<const T*>& from = columns<T>();
    from.resize(rows * width);
    for (std::size_t k = 0; k < from.size(); ++k) from[k] = lanes.output(k);
    std::size_t w = 0;
    int start = 0;
    for (std::size_t k = 0; k < kind.sizes.size(); start += kind.sizes[k++]) {
      if (w == width || group.program->wanted[w] != start) continue;  // fixed in all blocks
      const auto size = static_cast<std::size_t>(kind.sizes[k]);
      for (std::uint32_t l = 0; l < t.count; ++l) {
        const std::uint32_t block = group.blocks[t.first + l];
        const std::int32_t column = list_.column[list_.first[block] + k];
        if (column < 0) continue;
        T* to = J + list_.record[block] + static_cast<std::size_t>(column);
        const T* const* of_row = from.data() + w;
        for (std::size_t i = 0; i < rows; ++i, to += list_.stride[block], of_row += width) {
          for (std::size_t c = 0; c < size; ++c) to[c] = of_row[c][l];
        }
      }
      w += size;
    }
  }
  template <class T>
  std::vector<const T*>& columns() {
    if constexpr (std::is_same_v<T, double>) return columns_f64_;
    else return columns_f32_;
  }

  void slow_residuals(std::uint32_t block, std::span<const double> x, double* r) {
    const BlockFunction& function = *list_.functions[block];
    BlockCaller& caller = callers_[groups_.kind_of[block]];
    x_.resize(caller.inputs());
    gather_block(list_, block, x, x_.data());
    double* to = r + list_.row[block];
    if (!caller.value(function, x_.data(), to)) std::fill_n(to, function.residuals(), kNaN);
  }

  template <class T>
  void slow_jacobian(std::uint32_t block, std::span<const double> x, T* J) {
    const BlockFunction& function = *list_.functions[block];
    BlockCaller& caller = callers_[groups_.kind_of[block]];
    const std::size_t n = caller.inputs();
    const auto rows = static_cast<std::size_t>(function.residuals());
    x_.resize(n);
    r_.resize(rows);
    J_.resize(rows * n);
    gather_block(list_, block, x, x_.data());
    if (!caller.derivatives(function, x_.data(), r_.data(), J_.data())) std::ranges::fill(J_, kNaN);
    const auto parameters = list_.of(block);
    std::size_t start = 0;
    for (std::size_t k = 0; k < parameters.size(); ++k) {
      const auto size = static_cast<std::size_t>(list_.sizes[parameters[k]]);
      const std::int32_t column = list_.column[list_.first[block] + k];
      for (std::size_t i = 0; column >= 0 && i < rows; ++i) {
        T* to = J + list_.record[block] + i * list_.stride[block] + static_cast<std::size_t>(column);
        for (std::size_t c = 0; c < size; ++c) to[c] = static_cast<T>(J_[i * n + start + c]);
      }
      start += size;
    }
  }

  const BlockList& list_;
  const BlockGroups& groups_;
  std::vector<BlockCaller> callers_;
  Lanes<double> value_, wide_;
  Lanes<float> narrow_;
  std::vector<const double*> columns_f64_;
  std::vector<const float*> columns_f32_;
  std::vector<double> x_, r_, J_;
  KernelCounters counters_;
};

}  // namespace

struct BlockEvaluator::Impl {
  const BlockList& list;
  BlockGroups groups;
};

BlockEvaluator::BlockEvaluator(const BlockList& list, std::span<const double> x, const TaskRunner& run)
    : impl_(std::make_unique<Impl>(Impl{list, group_blocks(list, x, {}, run)})) {}
BlockEvaluator::BlockEvaluator(const BlockList& list, std::span<const double> x, BlockEvaluator&& earlier, const TaskRunner& run)
    : impl_(std::make_unique<Impl>(Impl{list, regroup_blocks(list, x, std::move(earlier.impl_->groups), run)})) {}
BlockEvaluator::~BlockEvaluator() = default;
BlockEvaluator::BlockEvaluator(BlockEvaluator&&) noexcept = default;

void BlockEvaluator::classify(std::span<const double> x, const TaskRunner& run) {
  impl_->groups = group_blocks(impl_->list, x, std::move(impl_->groups.kinds), run);
}

void BlockEvaluator::distrust(std::string why) {
  BlockGroups& groups = impl_->groups;
  groups.groups.clear();
  groups.slow.resize(impl_->list.blocks());
  std::iota(groups.slow.begin(), groups.slow.end(), 0U);
  groups.note = std::move(why);
  groups.carried = 0;
  groups.cut();
}

std::size_t BlockEvaluator::carried() const { return impl_->groups.carried; }
void BlockEvaluator::carry_all() { impl_->groups.carried = impl_->list.blocks() - impl_->groups.slow.size(); }
std::vector<BlockPlace> BlockEvaluator::places() const {
  std::vector<BlockPlace> places(impl_->list.blocks());
  for (std::uint32_t g = 0; g < impl_->groups.groups.size(); ++g) {
    const auto& blocks = impl_->groups.groups[g].blocks;
    for (std::uint32_t lane = 0; lane < blocks.size(); ++lane) places[blocks[lane]] = {g, lane};
  }
  return places;
}

std::size_t BlockEvaluator::tiles() const { return impl_->groups.tiles.size(); }
std::size_t BlockEvaluator::tile_blocks(std::size_t tile) const { return impl_->groups.tiles[tile].count; }
std::unique_ptr<BlockPass> BlockEvaluator::begin() const { return std::make_unique<GroupPass>(impl_->list, impl_->groups); }

BlockCounts BlockEvaluator::counts() const {
  BlockCounts counts;
  for (const BlockGroup& group : impl_->groups.groups) counts.traced += group.blocks.size();
  for (const std::uint32_t block : impl_->groups.slow) {
    switch (impl_->list.functions[block]->derivatives_by()) {
      case BlockFunction::Derivatives::own: ++counts.own; break;
      case BlockFunction::Derivatives::differences: ++counts.differences; break;
      default: ++counts.dual;
    }
  }
  return counts;
}

const std::string& BlockEvaluator::note() const { return impl_->groups.note; }
std::size_t BlockEvaluator::programs() const { return impl_->groups.groups.size(); }

double BlockEvaluator::value_cost() const {
  double cost = 0;
  for (const BlockGroup& group : impl_->groups.groups) cost += static_cast<double>(group.blocks.size()) * group.program->value_cost;
  return cost;
}
double BlockEvaluator::jacobian_cost() const {
  double cost = 0;
  for (const BlockGroup& group : impl_->groups.groups) cost += static_cast<double>(group.blocks.size()) * group.program->jacobian_cost;
  return cost;
}

std::size_t BlockEvaluator::bytes() const {
  std::size_t bytes = 0;
  for (const BlockGroup& group : impl_->groups.groups) {
    bytes += group.padded * (group.program->plan.columns.size() * (sizeof(double) + sizeof(float)) + 4 * (group.offsets.size() / std::max<std::size_t>(group.padded, 1))) + 4 * group.blocks.size();
  }
  return bytes;
}

}  // namespace nlsq::inline v0
