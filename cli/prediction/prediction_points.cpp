// Implements --predict X,..., --predict FILE and --predict A:B:N.
#include "prediction/prediction_points.hpp"

#include "errors.hpp"
#include "table/block_evaluator.hpp"
#include "table/formula_words.hpp"
#include "table/midnight.hpp"
#include "table/percent_signs.hpp"
#include "table/source/utf8.hpp"
#include "table/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

namespace nlsq::cli {

namespace {

bool has_column(const CsvShape& shape, const std::string& name) {
  return !name.empty() && std::ranges::find(shape.names, name) != shape.names.end();
}

// Returns false if a column of points has the name of an expression of several columns of the data.
bool are_same_columns(const ColumnExpression& point, const ColumnExpression& of_data) {
  return point.columns.size() == of_data.columns.size();
}

// Refuses points in another unit than the data, such as T [C] for T [K]. Points of T without a unit are
// accepted. A column T [C] is accepted for a T without a unit, but not in an expression, where only the name
// has found the column.
void check_unit(const Table& table, const std::string& here, const ColumnExpression& of_data,
                const std::string& name) {
  const bool same_unit = here == name || name_before_unit(here) == here;
  if (same_unit || name_before_unit(here).empty() || name_before_unit(here) != name_before_unit(name)) return;
  if (of_data.plain && name_before_unit(name) == name) return;  // the data name no unit
  throw BadData(
      fmt::format("{}: --predict: the column is {} here and {} in the data; if the unit is the "
                  "same, give it the same name",
                  table.name(), printable(here), printable(name)));
}

// Throws BadData if the rows of units of the points and of the data name different units for a column.
// `point` is the expression `of_data`, as it is read from the table of points.
void check_row_of_units(const Table& table, const ColumnExpression& point, const ColumnExpression& of_data,
                        const CsvShape& shape_of_data) {
  if (!are_same_columns(point, of_data)) return;
  for (std::size_t i = 0; i < point.columns.size(); ++i) {
    const std::string here = table.shape().unit(point.columns[i]),
                      there = shape_of_data.unit(of_data.columns[i]);
    if (!are_other_units(here, there)) continue;
    throw BadData(fmt::format(
        "{}: --predict: {} is in {} here, and in {} in the data: write both in one unit", table.origin(),
        column_label(table.shape(), point.columns[i]), printable(here), printable(there)));
  }
}

// Returns the expression of the data for the table of points.
ColumnExpression expression_in(const Table& table, const ColumnExpression& of_data, const FitData& data,
                               const char* option) {
  std::string text = of_data.text;
  if (of_data.plain) {
    const std::string& column = data.shape.names[of_data.columns[0]];
    const std::vector<std::string>& names = table.shape().names;
    const bool named = std::ranges::any_of(names, [](const std::string& name) { return !name.empty(); });
    if (has_column(table.shape(), column)) text = '`' + column + '`';
    else if (named && !column.empty() && names.size() > 1 && std::string_view(option) == "--x")
      throw BadData(
          fmt::format("{}: --predict: there is no column {}; the columns are {}: name the one of x so",
                      table.name(), column, fmt::join(names, ", ")));
  }
  ColumnExpression expression = parse_column_expression(text, table.shape(), table.origin(), option);
  for (std::size_t i = 0; i < expression.columns.size(); ++i) {
    const std::size_t column = expression.columns[i];
    if (column >= table.shape().columns()) {
      throw UsageError(
          fmt::format("--predict {}: {} {} takes row numbers or texts of the data, which points do not "
                      "have; give values of x, or A:B:N",
                      table.name(), option, of_data.text));
    }
    check_unit(table, table.shape().names[column], of_data, data.shape.names[of_data.columns[i]]);
  }
  check_row_of_units(table, expression, of_data, data.shape);
  return expression;
}

bool has_named_columns(const Table& table, const ColumnExpression& expression, const FitData& data) {
  return expression.text.find('$') == std::string::npos &&
         std::ranges::all_of(expression.columns, [&](std::size_t column) {
           return has_column(table.shape(), data.shape.names[column]);
         });
}

// Holds the columns that were read, in the order of their numbers in the file.
class PointColumns {
 public:
  PointColumns(Table& table, const std::vector<ColumnExpression>& wanted) {
    for (const ColumnExpression& expression : wanted)
      numbers_.insert(numbers_.end(), expression.columns.begin(), expression.columns.end());
    std::ranges::sort(numbers_);
    numbers_.erase(std::unique(numbers_.begin(), numbers_.end()), numbers_.end());
    read_ = table.read(numbers_);
    if (read_.rows == 0) throw BadData(table.name() + ": --predict: the table has no rows");
    refuse_mixed_percents(read_, table.shape(), numbers_);
  }

  // Throws BadData for a time of day more than half a day before the first one of the data, such as 00:01 for
  // data that begin at 23:50. Points need no order.
  void refuse_midnight(const CsvShape& shape) const {
    for (std::size_t k = 0; k < numbers_.size(); ++k) {
      if (!has_times_of_day(shape, numbers_[k])) continue;
      for (std::size_t i = 0; i < read_.columns[k].size(); ++i) {
        if (!(read_.columns[k][i] < -kHalfADay)) continue;
        throw BadData(
            fmt::format("{}: --predict: {} is more than half a day before the data: times of day do not run "
                        "over midnight; write dates, as in 2024-03-01T00:01",
                        place(i), column_label(shape, numbers_[k])));
      }
    }
  }

  // Throws BadData if a column has percent signs in the table of points and none in the data, or the reverse.
  // `of_data` is an expression of the data, and `point` is the same expression in the table of points.
  void compare_percents(const CsvShape& shape, const ColumnExpression& point, const ColumnExpression& of_data,
                        const FitData& data) const {
    if (!are_same_columns(point, of_data)) return;
    for (std::size_t k = 0; k < point.columns.size(); ++k) {
      const auto at =
          static_cast<std::size_t>(std::ranges::lower_bound(numbers_, point.columns[k]) - numbers_.begin());
      const bool here = std::ranges::any_of(read_.percents, [&](const auto& p) { return p.first == at; });
      const bool there = std::ranges::count(data.percent_columns, of_data.columns[k]) > 0;
      const Column& values = read_.columns[at];
      for (std::size_t i = 0; i < values.size() && here != there; ++i) {
        if (values[i] == 0) continue;
        throw BadData(fmt::format(
            "{}: --predict: {} has {} percent sign here and {} in the data: write both in "
            "the same way",
            place(i), column_label(shape, point.columns[k]), here ? "a" : "no", here ? "none" : "one"));
      }
    }
  }

  std::vector<double> evaluate(const ColumnExpression& expression) const {
    std::vector<Column> columns;
    for (const std::size_t number : expression.columns) {
      const auto at = std::ranges::lower_bound(numbers_, number) - numbers_.begin();
      columns.push_back(read_.columns[static_cast<std::size_t>(at)]);
    }
    std::vector<double> out(read_.rows);
    if (expression.plain) columns[0].read(0, out.size(), out.data());
    else evaluate_rows(expression.formula, columns, {}, out);
    return out;
  }

  std::string place(std::size_t row) const { return read_.place(row); }

 private:
  std::vector<std::size_t> numbers_;
  TableColumns read_;
};

// Dates of the points count from the first one of the data. Numbers count as seconds since it. `points` are
// the expressions of `of_data` in the table of points, in which columns may have other numbers.
void share_times(Table& table, const std::vector<ColumnExpression>& points,
                 const std::vector<ColumnExpression>& of_data, const FitData& data) {
  std::vector<std::optional<TimeOrigin>> times = table.shape().times;
  for (std::size_t k = 0; k < of_data.size(); ++k) {
    for (std::size_t i = 0; i < of_data[k].columns.size(); ++i) {
      const TimeOrigin* const time = data.shape.time(of_data[k].columns[i]);
      const std::size_t column = points[k].columns[i];
      if (table.shape().time(column) == nullptr) continue;
      if (time == nullptr) {
        const std::string& name = table.shape().names[column];
        throw BadData(fmt::format("{}: --predict: {} has dates here and numbers in {}: write numbers",
                                  table.name(), name.empty() ? of_data[k].text : name, data.source));
      }
      times[column] = *time;
    }
  }
  if (!times.empty()) table.take_times(std::move(times));
}

PredictionPoints points_of_file(const Arguments& arguments, const FitData& data) {
  CsvOptions csv = arguments.csv;
  csv.threads = arguments.threads;
  csv.skip = 0;  // the lines to skip are those above the data
  csv.of_points = true;
  const std::unique_ptr<Table> table = open_table(open_source(arguments.prediction.predict), csv);
  std::vector<ColumnExpression> expressions;
  for (const ColumnExpression& x : data.x) expressions.push_back(expression_in(*table, x, data, "--x"));
  const bool with_sigma = data.sigma_expression && has_named_columns(*table, *data.sigma_expression, data);
  if (with_sigma) expressions.push_back(expression_in(*table, *data.sigma_expression, data, "--sigma"));
  std::vector<ColumnExpression> of_data = data.x;
  if (with_sigma) of_data.push_back(*data.sigma_expression);
  share_times(*table, expressions, of_data, data);
  const PointColumns columns(*table, expressions);
  columns.refuse_midnight(table->shape());
  for (std::size_t k = 0; k < expressions.size(); ++k)
    columns.compare_percents(table->shape(), expressions[k], of_data[k], data);

  PredictionPoints out;
  out.has_text = table->has_text();
  for (std::size_t k = 0; k < expressions.size(); ++k) {
    const bool is_sigma = k == data.x.size();
    std::vector<double> values = columns.evaluate(expressions[k]);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::isfinite(values[i]) && (!is_sigma || values[i] > 0)) continue;
      throw BadData(fmt::format(
          "{}: --predict: {} = {} is {} here; {}", columns.place(i), is_sigma ? "sigma" : "x",
          column_title(table->shape(), expressions[k]), values[i],
          is_sigma ? "standard deviations must be positive: correct it" : "correct it, or remove the row"));
    }
    if (is_sigma) out.sigma = std::move(values);
    else out.x.push_back(std::move(values));
  }
  return out;
}

}  // namespace

std::vector<double> even_points(double from, double to, std::size_t count) {
  std::vector<double> out(count);
  const double last = static_cast<double>(count - 1);
  for (std::size_t i = 0; i < count; ++i) {
    const double share = static_cast<double>(i) / last;
    out[i] = (1 - share) * from + share * to;
  }
  out.back() = to;
  return out;
}

PredictionPoints read_points(const Arguments& arguments, const FitData& data) {
  const PredictionArguments& wanted = arguments.prediction;
  if (wanted.predict.empty()) return {};
  if (!wanted.grid && wanted.list.empty()) return points_of_file(arguments, data);
  const std::string option = "--predict " + wanted.predict;
  if (wanted.time && data.x.size() == 1 && data.time_of_x(0) != nullptr)
    return {.x = {{value_of({.moment = wanted.time}, data, option)}}};
  if (data.x.size() == 1 && !wanted.grid) {
    PredictionPoints points{.x = {{}}};
    for (const XLimit& x : wanted.list) points.x[0].push_back(value_of(x, data, option));
    return points;
  }
  if (data.x.size() != 1) {
    throw UsageError(
        fmt::format("{}: --x chose {} predictors, and {} gives points of one; give a table with all of them",
                    option, data.x.size(), wanted.grid ? "A:B:N" : "a list"));
  }
  const Grid& grid = *wanted.grid;
  const double from = value_of(grid.from, data, option), to = value_of(grid.to, data, option);
  return {.x = {even_points(from, to, grid.count)}};
}

}  // namespace nlsq::cli
