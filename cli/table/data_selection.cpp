// Implements select_data(): evaluates the column expressions and applies filters.
#include "table/data_selection.hpp"

#include "errors.hpp"
#include "table/column_choice.hpp"
#include "table/read_columns.hpp"
#include "table/source/utf8.hpp"
#include "table/x_limit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

namespace nlsq::cli {

namespace {

XLimits parse_range(const std::string& text) {
  if (text.empty()) return {};
  const std::optional<XLimits> limits = split_limits(text);
  if (!limits)
    throw UsageError(
        fmt::format("--range {}: write A:B, A: or :B with numbers, or with dates as {}", text, kDateForms));
  if (limits->first && limits->second && is_below(*limits->second, *limits->first))
    throw UsageError(fmt::format("--range {}: the first bound is above the second", text));
  return *limits;
}

// Returns the rows for which `keep` returns true. The result is empty if that is all of them.
template <class Keep>
Rows rows_where(std::size_t rows, Keep keep) {
  Rows list;
  bool all = true;
  for (std::size_t i = 0; i < rows; ++i) all = all && keep(i);
  if (all) return list;
  for (std::size_t i = 0; i < rows; ++i) {
    if (keep(i)) list.push_back(i);
  }
  return list;
}

// Applies a selection to the rows kept so far.
void narrow(FitData& data, Rows chosen) {
  if (!data.kept.empty()) {
    for (std::size_t& row : chosen) row = data.kept[row];
  }
  data.kept = std::move(chosen);
}

// Calls look(c, values, first, count) for blocks of rows and each of the columns, which have equal lengths.
// It goes from the last block to the first, so that the fit finds the first rows in the caches, but forwards
// through long columns, which files are read ahead for.
template <class Columns, class Look>
void for_blocks(Columns& columns, Look look) {
  constexpr std::size_t kBlock = 1024, kLong = std::size_t{1} << 25;
  std::array<double, kBlock> values;
  const std::size_t rows = columns.empty() ? 0 : columns.front().column->size();
  const std::size_t blocks = (rows + kBlock - 1) / kBlock;
  for (std::size_t k = 0; k < blocks; ++k) {
    const std::size_t first = (rows >= kLong ? k : blocks - 1 - k) * kBlock;
    const std::size_t count = std::min(kBlock, rows - first);
    for (auto& c : columns) {
      c.column->read(first, count, values.data());
      look(c, values.data(), first, count);
    }
  }
}

// This is a column whose numbers must be finite.
struct CheckedColumn {
  const Column* column;
  const ColumnExpression* expression;
  const char* what;
  bool nan_is_missing = false;       // which is no fault here
  std::size_t count = 0, first = 0;  // numbers that are not, and the row of the first one

  void add(std::size_t row) {
    if (count++ == 0 || row < first) first = row;
  }
  void look(const double* values, std::size_t begin, std::size_t size) {
    unsigned any = 0;  // a separate loop that vectorises
    for (std::size_t i = 0; i < size; ++i)
      any |= !(std::abs(values[i]) <= std::numeric_limits<double>::max());
    if (any == 0) return;
    for (std::size_t i = size; i-- > 0;) {
      if (!std::isfinite(values[i]) && !(nan_is_missing && std::isnan(values[i]))) add(begin + i);
    }
  }
};

void refuse_found(const FitData& data, const std::vector<CheckedColumn>& columns) {
  for (const CheckedColumn& c : columns) {
    if (c.count == 0) continue;
    const double value = (*c.column)[c.first];
    const bool missing = c.expression->plain && std::isnan(value);
    throw BadData(fmt::format(
        "{}: {} = {} is {} here{}; leave such rows out with {}", data.place(c.first), c.what,
        column_title(data.shape, *c.expression), std::isnan(value) ? "not a number" : "infinite",
        c.count > 1 ? fmt::format(" and in {} more row{}", c.count - 1, c.count == 2 ? "" : "s") : "",
        missing ? "--missing drop" : "--where"));
  }
}

// Looks through all columns at once, so that a file that holds them row by row is read once.
void refuse_non_finite(const FitData& data, std::vector<CheckedColumn> columns) {
  for_blocks(columns, [](CheckedColumn& c, const double* values, std::size_t begin, std::size_t size) {
    c.look(values, begin, size);
  });
  refuse_found(data, columns);
}

// Refuses NaN of an expression if all its numbers are present. A NaN that remains counts as missing.
void refuse_computed_nan(const FitData& data, const ReadColumns& columns, const ColumnExpression& expression,
                         const Column& y) {
  if (!data.lacks_y || expression.plain) return;
  CheckedColumn found{&y, &expression, "y"};
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (std::isnan(y[i]) && !columns.is_missing(expression, i)) found.add(i);
  }
  refuse_found(data, {found});
}

void apply_where(FitData& data, ReadColumns& columns, const std::vector<ColumnExpression>& conditions) {
  if (conditions.empty()) return;
  const std::size_t rows = data.rows_in_file - data.dropped_missing;
  RowVector<char> keep(rows, 1);
  for (const ColumnExpression& condition : conditions) {
    columns.warn_of(condition, data);
    const Column values = columns.evaluate(condition, rows, data);
    for (std::size_t i = 0; i < rows; ++i) keep[i] = keep[i] && values[i] != 0 && !std::isnan(values[i]);
  }
  const Rows chosen = rows_where(rows, [&](std::size_t i) { return keep[i] != 0; });
  if (chosen.empty()) {
    if (std::find(keep.begin(), keep.end(), 1) == keep.end())
      throw BadData(data.source + ": --where leaves no rows");
    return;
  }
  data.excluded_where = rows - chosen.size();
  columns.keep_rows(chosen, data);
  narrow(data, chosen);
}

// Throws BadData for a bad cell in a row that has been kept so far, if concerns(i) is true. i counts these
// rows.
template <class Concerns>
void refuse_late_faults(const FitData& data, Concerns concerns) {
  for (const auto& [row, message] : data.read.late_faults) {
    std::size_t index = row;
    if (!data.kept.empty()) {
      const auto found = std::ranges::lower_bound(data.kept, row);
      if (found == data.kept.end() || *found != row) continue;
      index = static_cast<std::size_t>(found - data.kept.begin());
    }
    if (concerns(index)) throw BadData(message);
  }
}

// Keeps the rows whose first x lies in the interval. The columns of the fit are checked only afterwards,
// because a row that is left out cannot make a fit fail. A row whose x is NaN is neither inside nor outside
// the limits. It is kept, and the check then refuses it.
void apply_range(FitData& data, ReadColumns& columns, const XLimits& range, const std::string& text) {
  if (text.empty()) return;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const ColumnExpression& expression = data.x.front();
  columns.refuse_some_percents(data, &expression);
  const std::size_t rows = data.rows_in_file - data.dropped_missing - data.excluded_where;
  refuse_late_faults(data, [&](std::size_t row) { return columns.is_missing(expression, row); });
  const Column x = columns.evaluate(expression, rows, data);
  const double low = range.first ? value_of(*range.first, data, "--range " + text) : -kInfinity,
               high = range.second ? value_of(*range.second, data, "--range " + text) : kInfinity;
  const auto inside = [&](std::size_t i) { return !(x[i] < low || x[i] > high); };
  const Rows chosen = rows_where(rows, inside);
  if (chosen.empty()) {
    if (!inside(0)) throw BadData(data.source + ": --range leaves no rows");
    return;
  }
  data.excluded_range = rows - chosen.size();
  columns.keep_rows(chosen, data);
  narrow(data, chosen);
}

void refuse_bad_sigma(const FitData& data) {
  if (data.sigma.empty()) return;
  std::size_t bad = data.sigma.size();
  struct Sigma {
    const Column* column;
  };
  std::array sigma = {Sigma{&data.sigma}};
  for_blocks(sigma, [&](const Sigma&, const double* values, std::size_t begin, std::size_t size) {
    for (std::size_t i = size; i-- > 0;) {
      if (!(values[i] > 0)) bad = std::min(bad, begin + i);
    }
  });
  if (bad == data.sigma.size()) return;
  const bool of_no_counts = data.sigma[bad] == 0 && data.y[bad] == 0;  // √y is 0 there
  throw BadData(
      fmt::format("{}: sigma is {}; standard deviations must be positive: correct it, or leave the row "
                  "out with --where{}",
                  data.place(bad), data.sigma[bad],
                  of_no_counts ? "; if y are counts, --loss poisson needs no sigma" : ""));
}

// Refuses two columns whose numbers are weighed against each other, such as y and its sigma, if one has
// percent signs and the other has none. Expressions may convert numbers, so they are accepted.
void refuse_other_percents(const FitData& data, const ColumnExpression& one, const ColumnExpression& other,
                           const std::string& what) {
  if (!one.plain || !other.plain || data.has_percents(one) == data.has_percents(other)) return;
  const bool first = data.has_percents(one);
  throw BadData(fmt::format(
      "{}: {} has {} and {} has {}, so one is a hundred times too large beside the other: write {} "
      "in the same way",
      data.source, column_label(data.shape, one.columns[0]), first ? "percent signs" : "no percent signs",
      column_label(data.shape, other.columns[0]), first ? "none" : "some", what));
}

void refuse_other_percents(const FitData& data, const Selection& selection) {
  if (data.sigma_expression && selection.absolute_sigma) {
    refuse_other_percents(data, data.y_expression, *data.sigma_expression, "y and --sigma");
    for (const ColumnExpression& y : data.more_y_expressions)
      refuse_other_percents(data, y, *data.sigma_expression, "y and --sigma");
  }
  for (std::size_t k = 0; k < data.sigma_x_expressions.size(); ++k)
    if (data.sigma_x_expressions[k])
      refuse_other_percents(data, data.x[k], *data.sigma_x_expressions[k], "x and --sigma-x");
}

// Computes the columns of the fit for the remaining rows.
void take_columns(FitData& data, const ReadColumns& columns, std::size_t rows) {
  const auto take = [&](const ColumnExpression& expression) {
    return columns.evaluate(expression, rows, data);
  };
  for (const ColumnExpression& expression : data.x) data.predictors.push_back(take(expression));
  data.y = take(data.y_expression);
  for (const ColumnExpression& expression : data.more_y_expressions) data.more_y.push_back(take(expression));
  refuse_computed_nan(data, columns, data.y_expression, data.y);
  for (std::size_t k = 0; k < data.more_y.size(); ++k)
    refuse_computed_nan(data, columns, data.more_y_expressions[k], data.more_y[k]);
  if (data.sigma_expression) data.sigma = take(*data.sigma_expression);
  for (const auto& expression : data.sigma_x_expressions)
    data.sigma_x.push_back(expression ? take(*expression) : Column());
  if (data.group_expression) data.group = columns.group();
}

}  // namespace

// Checks numbers of the file that are not known to be finite, and values of expressions.
void check_finite(const FitData& data) {
  const bool finite = data.read.finite;
  std::vector<CheckedColumn> checked;
  const auto check = [&](const Column& column, const ColumnExpression& expression, const char* what) {
    const bool may_be_missing = data.lacks_y && *what == 'y';
    if (!finite || !expression.plain) checked.push_back({&column, &expression, what, may_be_missing});
  };
  for (std::size_t k = 0; k < data.x.size(); ++k) check(data.predictors[k], data.x[k], "x");
  check(data.y, data.y_expression, "y");
  for (std::size_t k = 0; k < data.more_y.size(); ++k) check(data.more_y[k], data.more_y_expressions[k], "y");
  if (data.sigma_expression) check(data.sigma, *data.sigma_expression, "sigma");
  for (std::size_t k = 0; k < data.sigma_x.size(); ++k)
    if (data.sigma_x_expressions[k]) check(data.sigma_x[k], *data.sigma_x_expressions[k], "sigma of x");
  if (data.group_expression && !finite)
    checked.push_back({&data.group, &*data.group_expression, "the group"});
  refuse_non_finite(data, std::move(checked));
}

std::string FitData::place(std::size_t row) const {
  if (place_in_all) return place_in_all(row);
  return read.place(kept.empty() ? row : kept[row]);
}

bool FitData::has_percents(const ColumnExpression& expression) const {
  return std::ranges::any_of(expression.columns, [&](std::size_t column) {
    return std::ranges::count(percent_columns, column) > 0;
  });
}

std::string FitData::title(const ColumnExpression& expression) const {
  const std::string title = column_title(shape, expression);
  return has_percents(expression) ? title + " (percent, as a fraction)" : title;
}

bool may_have_groups(const Selection& selection) {
  return !selection.group_by.empty() || split_list(selection.y).size() > 1;
}

FitData select_data(Table& table, const Selection& selection) {
  FitData data;
  data.source = table.name();
  data.shape = table.shape();
  data.has_text = table.has_text();
  const XLimits range = parse_range(selection.range);
  choose_columns(data, table, selection);
  std::vector<ColumnExpression> conditions;
  for (const std::string& text : selection.where) {
    conditions.push_back(parse_column_expression(text, data.shape, table.origin(), "--where"));
  }
  ReadColumns columns;
  for (const ColumnExpression& expression : data.x) columns.want(expression);
  if (data.more_y_expressions.empty()) columns.want(data.y_expression);
  if (data.sigma_expression) columns.want(*data.sigma_expression);
  for (const auto& expression : data.sigma_x_expressions) {
    if (expression) columns.want(*expression);
  }
  for (const ColumnExpression& expression : conditions) columns.want_condition(expression);
  if (!selection.range.empty()) columns.want_range(data.x.front());
  if (data.group_expression) columns.want_group(*data.group_expression);
  // Each of several responses is fitted by itself, so a row that lacks one of them still has the others.
  if (!data.more_y_expressions.empty()) columns.want_if_there(data.y_expression);
  for (const ColumnExpression& expression : data.more_y_expressions) columns.want_if_there(expression);

  data.read = columns.read(table, data);
  TableColumns& read = data.read;
  data.dropped_missing = read.dropped_missing;
  data.rows_in_file = read.rows_in_file();
  data.underflows = read.underflows;
  data.group_texts = std::move(read.groups);
  data.first_underflow = std::move(read.first_underflow);
  data.description = table.describe(read);

  columns.refuse_midnight(data, ReadColumns::Times::in_conditions);
  apply_where(data, columns, conditions);
  apply_range(data, columns, range, selection.range);
  refuse_late_faults(data, [](std::size_t) { return true; });
  read.late_faults.clear();
  columns.refuse_some_percents(data);
  refuse_other_percents(data, selection);
  columns.refuse_midnight(data, ReadColumns::Times::all);
  columns.warn_of_merged_numbers(data);
  take_columns(data, columns, read.rows - data.excluded_where - data.excluded_range);
  data.unchecked = selection.check_later;
  if (!data.unchecked) check_finite(data);
  refuse_bad_sigma(data);
  return data;
}

}  // namespace nlsq::cli
