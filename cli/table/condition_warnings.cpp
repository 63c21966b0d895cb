// Implements warnings_of_condition() by a walk over the graph of the condition.
#include "table/condition_warnings.hpp"

#include "table/numbers/number.hpp"
#include "table/source/utf8.hpp"

#include <nlsq/graph.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace nlsq::cli {

namespace {

// Holds one side of a comparison: a column, a number, or neither.
struct Side {
  std::optional<std::size_t> column;  // among those of the expression
  std::optional<double> number;
};

class ConditionCheck {
 public:
  ConditionCheck(const ColumnExpression& condition, const CsvShape& shape, std::span<const Column> columns,
                 const std::function<bool(std::size_t)>& has_signs)
      : condition_(condition), shape_(shape), columns_(columns), has_signs_(has_signs) {}

  std::vector<std::string> run() {
    const Graph& graph = condition_.formula.graph;
    for (NodeId id = 0; id < graph.size() && !condition_.plain; ++id) {
      const Node& node = graph[id];
      const bool equality = node.op == Op::equal || node.op == Op::not_equal;
      if (!equality && node.op != Op::less && node.op != Op::less_equal) continue;
      const Side a = side(graph[node.a]), b = side(graph[node.b]);
      if (a.column) compare_percents(*a.column, b);
      if (b.column) compare_percents(*b.column, a);
      compare_large(a, b, equality);
    }
    return std::move(warnings_);
  }

 private:
  Side side(const Node& node) const {
    if (node.op == Op::constant) return {{}, node.value};
    const bool is_column = node.op == Op::column && condition_.columns[node.index] < kRowNumber;
    return is_column ? Side{node.index, {}} : Side{};
  }
  std::string name(std::size_t k) const { return column_label(shape_, condition_.columns[k]); }
  void warn(std::string text) {
    text = fmt::format("--where {}: {}", printable(condition_.text, 60), text);
    if (std::ranges::count(warnings_, text) == 0) warnings_.push_back(std::move(text));
  }

  void compare_percents(std::size_t column, const Side& other) {
    if (!has_signs_(column)) return;
    if (other.number && std::fabs(*other.number) >= 1) {
      const double percent = *other.number;
      warn(fmt::format(
          "{} has percent signs, and its numbers are fractions, as 0.05 for 5%: for {} % write {}",
          name(column), percent, percent / 100));
    } else if (other.column && !has_signs_(*other.column)) {
      warn(fmt::format("{} has percent signs, and its numbers are fractions, as 0.05 for 5%; {} has none",
                       name(column), name(*other.column)));
    }
  }

  // Warns if both sides are the same double in some row, although the file may have different digits there.
  // From 2^53 on several whole numbers become the same double.
  void compare_large(const Side& a, const Side& b, bool equality) {
    if (!(a.column || b.column) || !((a.column || a.number) && (b.column || b.number))) return;
    const std::size_t rows = columns_[a.column ? *a.column : *b.column].size();
    const auto value = [&](const Side& side, std::size_t i) {
      return side.number ? *side.number : columns_[*side.column][i];
    };
    const auto is_merged = [](double number) {
      constexpr double kMostOfId = 0x1p64;  // larger numbers are measured, not counted
      return std::fabs(number) >= kFirstMerged && std::fabs(number) <= kMostOfId;
    };
    for (const Side& side : {a, b})
      if (side.number && !is_merged(*side.number)) return;
    for (std::size_t i = 0; i < rows; ++i) {
      const double one = value(a, i);
      if (one != value(b, i) || !is_merged(one)) continue;
      const bool by_text = equality && (a.number || b.number);
      return warn(
          fmt::format("float64 does not tell whole numbers from 2^53 on apart, so {:.0f} in {} may count "
                      "as equal to its neighbours: {}",
                      one, name(a.column ? *a.column : *b.column),
                      by_text ? "write the number in quotes, which compares the texts of the cells"
                              : "compare a column with fewer digits"));
    }
  }

  const ColumnExpression& condition_;
  const CsvShape& shape_;
  std::span<const Column> columns_;
  const std::function<bool(std::size_t)>& has_signs_;
  std::vector<std::string> warnings_;
};

}  // namespace

std::vector<std::string> warnings_of_condition(const ColumnExpression& condition, const CsvShape& shape,
                                               std::span<const Column> columns,
                                               const std::function<bool(std::size_t)>& has_signs) {
  return ConditionCheck(condition, shape, columns, has_signs).run();
}

}  // namespace nlsq::cli
