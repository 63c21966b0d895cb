// Implements GroupRows: finds the groups in one pass over the rows and sorts the rows by counting.
#include "batch/group_rows.hpp"

#include "support/constants.hpp"
#include "support/parallel.hpp"

#include <nlsq/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <utility>

namespace nlsq::inline v0 {

namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kBlock = 512;
constexpr std::size_t kMostInPlace = 65536;  // rows for which RowSource::direct_f64() promises memory

// Numbers the values of a column in the order of their first appearance. Small whole numbers are looked up in
// a table, because hashing every row would take longer than reading the file.
class ValueIndex {
 public:
  explicit ValueIndex(std::size_t rows) : small_values_(std::min<std::size_t>(rows + 1, kMostSmall)) {}

  std::uint32_t& operator[](double value) {
    if (!(value >= 0 && value < static_cast<double>(small_values_) && value == std::floor(value)))
      return others_.try_emplace(value, kNone).first->second;
    const auto place = static_cast<std::size_t>(value);
    if (place >= small_.size()) small_.resize(std::min(small_values_, 2 * place + 1), kNone);
    return small_[place];
  }

 private:
  static constexpr std::size_t kMostSmall = std::size_t{1} << 24;
  std::size_t small_values_;  // smaller ones are in small_, which grows to so many
  std::vector<std::uint32_t> small_;
  std::unordered_map<double, std::uint32_t> others_;  // -0 equals 0 and is small
};

}  // namespace

// Finds the groups and the runs: consecutive rows of one group.
std::vector<GroupRows::Run> GroupRows::find_runs(const Column& group) {
  ValueIndex numbers(group.size());
  std::vector<Run> runs;
  std::array<double, kBlock> values;
  double before = kNaN;
  for (std::size_t first = 0; first < group.size(); first += kBlock) {
    const std::size_t count = std::min(kBlock, group.size() - first);
    group.read(first, count, values.data());
    for (std::size_t i = 0; i < count; ++i) {
      if (values[i] == before) continue;
      before = values[i];
      if (!std::isfinite(before)) {
        throw DataError(
            fmt::format("group of row {} is {}: give each row a finite number", first + i, before),
            first + i);
      }
      std::uint32_t& number = numbers[before];
      if (number == kNone) {
        number = static_cast<std::uint32_t>(first_row_.size());
        first_row_.push_back(first + i);
      }
      runs.push_back({static_cast<std::uint32_t>(first + i), number});
    }
  }
  return runs;
}

GroupRows::GroupRows(const Column& group) {
  if (group.size() >= kNone)
    throw DataError(fmt::format("{} rows: groups take at most {} rows at once", group.size(), kNone - 1));
  const std::vector<Run> runs = find_runs(group);
  const auto end_of = [&](std::size_t k) { return k + 1 < runs.size() ? runs[k + 1].first : group.size(); };
  begin_.assign(first_row_.size() + 1, 0);
  for (std::size_t k = 0; k < runs.size(); ++k) begin_[runs[k].number] += end_of(k) - runs[k].first;
  std::size_t before = 0;
  for (std::size_t& b : begin_) before += std::exchange(b, before);
  if (runs.size() == first_row_.size()) return;
  std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
  order_.resize(group.size());
  for (std::size_t k = 0; k < runs.size(); ++k) {
    std::size_t& to = next[runs[k].number];
    for (std::size_t i = runs[k].first; i < end_of(k); ++i) order_[to++] = static_cast<std::uint32_t>(i);
  }
}

std::vector<Column> GroupRows::sorted(const std::vector<Column>& columns, const Parallelism& parallelism,
                                      Memory& memory) const {
  std::vector<Column> out = columns;
  memory.assign(columns.size(), nullptr);
  run_tasks(columns.size(), parallelism, [&](std::size_t c) {
    const Column& column = columns[c];
    const std::size_t rows = column.size();
    const bool whole = column.memory() != nullptr || rows <= kMostInPlace;
    if (column.empty() || (contiguous() && whole && column.direct_f64(0) != nullptr)) return;
    auto values = std::make_shared_for_overwrite<double[]>(rows);
    column.read(0, rows, values.get());
    if (!contiguous()) {
      auto ordered = std::make_shared_for_overwrite<double[]>(rows);
      for (std::size_t i = 0; i < rows; ++i) ordered[i] = values[order_[i]];
      values.swap(ordered);
    }
    out[c] = Column(values.get(), rows);
    memory[c] = std::move(values);
  });
  return out;
}

GroupColumns::GroupColumns(const GroupRows& groups, std::vector<Column> columns,
                           const Parallelism& parallelism, bool divided)
    : groups_(groups), columns_(std::move(columns)), divided_(divided && groups.contiguous()) {
  if (!divided_) columns_ = groups.sorted(columns_, parallelism, memory_);
  else
    for (const Column& column : columns_)
      memory_.push_back(std::make_shared_for_overwrite<double[]>(column.size()));
}

const double* GroupColumns::in_place(const Column& column, std::size_t k) const {
  return groups_.rows(k) <= kMostInPlace ? column.direct_f64(groups_.first(k)) : nullptr;
}

void GroupColumns::load(std::span<const std::size_t> groups) {
  if (!divided_) return;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const Column& column = columns_[c];
    if (column.empty()) continue;
    for (const std::size_t k : groups) {
      const std::size_t first = groups_.first(k);
      if (in_place(column, k) == nullptr) column.read(first, groups_.rows(k), &memory_[c][first]);
    }
  }
}

Column GroupColumns::part(std::size_t c, std::size_t k) const {
  if (!divided_) return groups_.part(columns_[c], k);
  const double* const here = in_place(columns_[c], k);
  return {here != nullptr ? here : &memory_[c][groups_.first(k)], groups_.rows(k)};
}

}  // namespace nlsq::inline v0
