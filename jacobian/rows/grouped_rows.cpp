// Evaluates the rows of a recorded vector function group by group.
#include "rows/grouped_rows.hpp"
#include "expression/names.hpp"
#include "rows/residual_sources.hpp"
#include "rows/twofold_rows.hpp"

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

namespace {

// Data columns that hold the constants in which the residuals of a group differ.
class OwnedRows final : public RowSource {
 public:
  OwnedRows(std::vector<std::vector<double>> columns, std::size_t rows)
      : columns_(std::move(columns)), rows_(rows) {}
  std::size_t rows() const override { return rows_; }
  int columns() const override { return static_cast<int>(columns_.size()); }
  using RowSource::read;
  void read(std::size_t first, std::size_t count, int column, double* out) const override {
    std::copy_n(direct_f64(first, column), count, out);
  }
  const double* direct_f64(std::size_t first, int column) const override {
    return columns_[static_cast<std::size_t>(column)].data() + first;
  }

 private:
  std::vector<std::vector<double>> columns_;
  std::size_t rows_;
};

// This is the expression of one group. GroupedRows checks the whole function, so this class has no reference
// values.
class GroupResidual final : public ResidualSource {
 public:
  GroupResidual(Graph graph, NodeId root, const ResidualForm& form)
      : graph_(std::move(graph)), root_(root), form_(form) {}
  NodeId build(Graph& graph) const override { return import(graph, graph_, root_); }
  FinishedNodes finish(Graph& graph, NodeId base) const override {
    return finish_residual(graph, base, base, form_);
  }
  int extra_columns() const override { return form_.extra_columns(); }
  double reference(std::span<const double> row, std::span<const double> p, double& magnitude) const override {
    const FinishedNumber end = finish_residual(evaluate(graph_, root_, row, p), 0, form_);
    magnitude = std::fabs(end.residual);
    return end.residual;
  }

 private:
  Graph graph_;
  NodeId root_;
  ResidualForm form_;
};

// Holds the rows of a group that belong to one component; without components, the whole group.
struct GroupPart {
  std::size_t component = 0;
  RolledGroup group;
};
std::vector<GroupPart> split(RolledGroup group, const std::vector<RowComponent>& components) {
  std::vector<GroupPart> parts;
  if (components.empty()) {
    parts.push_back({0, std::move(group)});
    return parts;
  }
  std::size_t row = 0, end = 0;  // residuals ascend, and so do components
  for (std::size_t c = 0; c < components.size(); ++c) {
    end += components[c].rows;
    const std::size_t first = row;
    while (row < group.residuals.size() && group.residuals[row] < end) ++row;
    if (row == first) continue;
    GroupPart part{c, {group.graph, group.root, {}, {}}};
    const auto from = static_cast<std::ptrdiff_t>(first), to = static_cast<std::ptrdiff_t>(row);
    part.group.residuals.assign(group.residuals.begin() + from, group.residuals.begin() + to);
    for (const auto& column : group.columns)
      part.group.columns.emplace_back(column.begin() + from, column.begin() + to);
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace

struct GroupedRows::Group {
  std::size_t first = 0;  // first row of the group
  std::unique_ptr<GraphRows> rows;
};

class GroupedRows::Pass final : public TilePass {
 public:
  Pass(const GroupedRows& owner, std::span<const double> x, Fill fill, bool single) : owner_(owner) {
    for (const auto& group : owner.groups_) passes_.push_back(group->rows->begin(x, fill, single));
  }
  double* const* fill_f64(std::size_t first, std::size_t count, KernelCounters& counters) override {
    const std::size_t g = owner_.group_of(first);
    return passes_[g]->fill_f64(first - owner_.groups_[g]->first, count, counters);
  }
  float* const* fill_f32(std::size_t first, std::size_t count, KernelCounters& counters) override {
    const std::size_t g = owner_.group_of(first);
    return passes_[g]->fill_f32(first - owner_.groups_[g]->first, count, counters);
  }
  std::size_t bytes() const override {
    std::size_t sum = 0;
    for (const auto& pass : passes_) sum += pass->bytes();
    return sum;
  }

 private:
  const GroupedRows& owner_;
  std::vector<std::unique_ptr<TilePass>> passes_;
};

class GroupedRows::Twofold final : public TwofoldRows {
 public:
  explicit Twofold(const GroupedRows& owner) : owner_(owner) {
    for (const auto& group : owner.groups_) groups_.push_back(group->rows->twofold());
  }
  bool complete() const {
    return std::ranges::all_of(groups_, [](const auto& group) { return group != nullptr; });
  }
  void residuals(std::span<const double> x, std::size_t first, std::size_t count, double* residuals,
                 double* errors) override {
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t g = owner_.group_of(first + i);
      groups_[g]->residuals(x, first + i - owner_.groups_[g]->first, 1, residuals + i, errors + i);
    }
  }
  void last_digits(std::span<const double> x, std::size_t first, std::size_t count, double* out) override {
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t g = owner_.group_of(first + i);
      groups_[g]->last_digits(x, first + i - owner_.groups_[g]->first, 1, out + i);
    }
  }

 private:
  const GroupedRows& owner_;
  std::vector<std::unique_ptr<TwofoldRows>> groups_;
};

std::unique_ptr<TwofoldRows> GroupedRows::twofold() const {
  auto rows = std::make_unique<Twofold>(*this);
  return rows->complete() ? std::move(rows) : nullptr;
}

GroupedRows::GroupedRows(RolledTrace rolled, VectorFunction function, const std::vector<double>& start,
                         std::vector<RowComponent> components, ResidualForm form)
    : function_(std::move(function)), parameters_(static_cast<int>(start.size())), form_(std::move(form)),
      components_(std::move(components)) {
  const std::vector<int> free = all_parameters(start.size());
  std::vector<GroupPart> parts;
  for (RolledGroup& group : rolled.groups) {
    for (GroupPart& part : split(std::move(group), components_)) parts.push_back(std::move(part));
  }
  // Makes the tiles of a component contiguous.
  std::ranges::stable_sort(parts, {}, &GroupPart::component);
  for (auto& [component, made] : parts) {
    auto group = std::make_unique<Group>();
    group->first = original_.size();
    original_.insert(original_.end(), made.residuals.begin(), made.residuals.end());
    auto data = std::make_shared<OwnedRows>(std::move(made.columns), made.residuals.size());
    group->rows =
        std::make_unique<GraphRows>(std::make_shared<GroupResidual>(std::move(made.graph), made.root, form_),
                                    std::move(data), start, free);
    tile_rows_ = std::max(tile_rows_, group->rows->tile_rows());
    for (std::size_t t = 0; t < group->rows->tile_count(); ++t) {
      const TileRange range = group->rows->tile(t);
      tiles_.push_back({group->first + range.first, range.count});
      if (!components_.empty()) tile_component_.push_back(component);
    }
    groups_.push_back(std::move(group));
  }
  for (const double p : start) typical_.push_back(p != 0 ? std::fabs(p) : 1.0);
}

GroupedRows::~GroupedRows() = default;

std::size_t GroupedRows::group_of(std::size_t row) const {
  std::size_t g = groups_.size() - 1;
  while (groups_[g]->first > row) --g;
  return g;
}

double GroupedRows::row_cost(Fill fill) const {
  double sum = 0;
  for (const auto& group : groups_)
    sum += group->rows->row_cost(fill) * static_cast<double>(group->rows->rows());
  return sum / static_cast<double>(std::max<std::size_t>(1, rows()));
}

std::unique_ptr<TilePass> GroupedRows::begin(std::span<const double> x, Fill fill, bool single) const {
  return std::make_unique<Pass>(*this, x, fill, single);
}

void GroupedRows::reference_residuals(std::span<const double> x, std::size_t first, std::size_t count,
                                      double* residuals, double* magnitudes) const {
  const std::lock_guard lock(mutex_);
  // Row 0 starts a new check. The callable is called again even at the same x, in case its result has
  // changed.
  if (first == 0 || !std::equal(x.begin(), x.end(), reference_at_.begin(), reference_at_.end())) {
    reference_ = function_.value(x);
    reference_at_.assign(x.begin(), x.end());
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t k = original_[first + i];
    residuals[i] = finish_residual(reference_.at(k), 0, form_).residual;
    magnitudes[i] = std::fabs(residuals[i]);
  }
  for (const auto& group : groups_) {
    const std::size_t from = std::max(first, group->first);
    const std::size_t to = std::min(first + count, group->first + group->rows->rows());
    if (from < to)
      group->rows->add_sizes_of_response(x, from - group->first, to - from, magnitudes + (from - first));
  }
}

}  // namespace nlsq::inline v0
