#include "data_selection.hpp"

#include "block_evaluator.hpp"
#include "errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace nlsq::cli {

namespace {

// The columns read so far, by their number in the file.
class ReadColumns {
 public:
  void want(const ColumnExpression& expression) {
    for (const std::size_t column : expression.columns) {
      if (place(column) == numbers_.size()) numbers_.push_back(column);
    }
  }
  std::span<const std::size_t> numbers() const { return numbers_; }
  void fill(std::vector<std::vector<double>>&& values) { values_ = std::move(values); }

  void keep_rows(const std::vector<std::size_t>& rows) {
    for (std::vector<double>& column : values_) {
      for (std::size_t i = 0; i < rows.size(); ++i) column[i] = column[rows[i]];
      column.resize(rows.size());
    }
  }

  std::vector<double> evaluate(const ColumnExpression& expression, std::size_t rows) const {
    if (expression.plain) return values_[place(expression.columns[0])];
    std::vector<const double*> columns;
    for (const std::size_t column : expression.columns) columns.push_back(values_[place(column)].data());
    std::vector<double> out(rows);
    evaluate_rows(expression.formula, columns, {}, out);
    return out;
  }

 private:
  std::size_t place(std::size_t column) const {
    return static_cast<std::size_t>(std::find(numbers_.begin(), numbers_.end(), column) - numbers_.begin());
  }
  std::vector<std::size_t> numbers_;
  std::vector<std::vector<double>> values_;
};

struct Range {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
};

Range parse_range(const std::string& text) {
  Range range;
  if (text.empty()) return range;
  const std::size_t colon = text.find(':');
  const auto bound = [&](std::string_view part, double& value) {
    if (trim_blanks(part).empty()) return true;
    return parse_number(part, NumberFormat{}, value) == NumberStatus::ok;
  };
  const bool ok = colon != std::string::npos && bound(std::string_view(text).substr(0, colon), range.low) &&
                  bound(std::string_view(text).substr(colon + 1), range.high);
  if (!ok) throw UsageError(fmt::format("--range {}: write A:B, A: or :B with numbers", text));
  if (range.low > range.high)
    throw UsageError(fmt::format("--range {}: the first bound is above the second", text));
  return range;
}

// Rows `keep` says yes to, as a list; empty when that is all of them.
template <class Keep>
std::vector<std::size_t> rows_where(std::size_t rows, Keep keep) {
  std::vector<std::size_t> list;
  bool all = true;
  for (std::size_t i = 0; i < rows; ++i) all = all && keep(i);
  if (all) return list;
  for (std::size_t i = 0; i < rows; ++i) {
    if (keep(i)) list.push_back(i);
  }
  return list;
}

// Adds a choice among the rows kept so far.
void narrow(FitData& data, std::vector<std::size_t> chosen) {
  if (!data.kept.empty()) {
    for (std::size_t& row : chosen) row = data.kept[row];
  }
  data.kept = std::move(chosen);
}

void refuse_non_finite(const FitData& data, const std::vector<double>& values,
                       const ColumnExpression& expression, const char* what) {
  std::size_t count = 0, first = 0;
  for (std::size_t i = values.size(); i-- > 0;) {
    if (!std::isfinite(values[i])) ++count, first = i;
  }
  if (count == 0) return;
  throw BadData(fmt::format("{}:{}: {} = {} is {} here{}; leave such rows out with --where", data.source,
                            data.line(first), what, expression.text,
                            std::isnan(values[first]) ? "not a number" : "infinite",
                            count > 1 ? fmt::format(" and in {} more rows", count - 1) : ""));
}

std::string describe(const CsvReader& reader, std::size_t rows) {
  const CsvShape& shape = reader.shape();
  std::string text =
      fmt::format("{} row{}, {} column{}, {}, {}", rows, rows == 1 ? "" : "s", shape.columns(),
                  shape.columns() == 1 ? "" : "s",
                  shape.columns() == 1 ? "no delimiter" : "delimiter " + delimiter_name(shape.delimiter),
                  shape.has_header ? "header" : "no header");
  if (reader.source().encoding != "UTF-8") text += ", " + reader.source().encoding;
  if (reader.source().gzip) text += ", gzip";
  return text;
}

void parse_selection(FitData& data, const CsvReader& reader, const Selection& selection) {
  const auto parse = [&](std::string_view text, const char* option) {
    return parse_column_expression(text, data.shape, reader.origin(), option);
  };
  const auto& names = data.shape.names;
  const bool whole_name = std::find(names.begin(), names.end(), selection.x) != names.end();
  if (selection.x.empty()) {
    data.x.push_back(parse("$1", "--x"));
  } else if (whole_name) {
    data.x.push_back(parse(selection.x, "--x"));
  } else {
    for (const std::string& part : split_list(selection.x)) data.x.push_back(parse(part, "--x"));
  }
  data.y_expression = parse(selection.y.empty() ? "$2" : selection.y, "--y");
  if (!selection.sigma.empty()) data.sigma_expression = parse(selection.sigma, "--sigma");
  if (selection.y.empty() && data.x.front().plain && data.x.front().columns[0] == 1) {
    throw UsageError("--x chose column 2, which is also what y would be; say which column is y with --y");
  }
}

void apply_where(FitData& data, ReadColumns& columns, const std::vector<ColumnExpression>& conditions) {
  if (conditions.empty()) return;
  const std::size_t rows = data.rows_in_file - data.dropped_missing;
  std::vector<char> keep(rows, 1);
  for (const ColumnExpression& condition : conditions) {
    const std::vector<double> values = columns.evaluate(condition, rows);
    for (std::size_t i = 0; i < rows; ++i) keep[i] = keep[i] && values[i] != 0 && !std::isnan(values[i]);
  }
  const std::vector<std::size_t> chosen = rows_where(rows, [&](std::size_t i) { return keep[i] != 0; });
  if (chosen.empty()) {
    if (std::find(keep.begin(), keep.end(), 1) == keep.end())
      throw BadData(data.source + ": --where leaves no rows");
    return;
  }
  data.excluded_where = rows - chosen.size();
  columns.keep_rows(chosen);
  narrow(data, chosen);
}

void apply_range(FitData& data, const Range& range) {
  const std::vector<double>& x = data.predictors.front();
  const auto inside = [&](std::size_t i) { return x[i] >= range.low && x[i] <= range.high; };
  const std::vector<std::size_t> chosen = rows_where(x.size(), inside);
  if (chosen.empty()) {
    if (!inside(0)) throw BadData(data.source + ": --range leaves no rows");
    return;
  }
  data.excluded_range = x.size() - chosen.size();
  const auto compress = [&](std::vector<double>& column) {
    for (std::size_t i = 0; i < chosen.size(); ++i) column[i] = column[chosen[i]];
    column.resize(chosen.size());
  };
  for (std::vector<double>& column : data.predictors) compress(column);
  compress(data.y);
  if (!data.sigma.empty()) compress(data.sigma);
  narrow(data, chosen);
}

void refuse_bad_sigma(const FitData& data) {
  const auto bad = std::find_if(data.sigma.begin(), data.sigma.end(), [](double s) { return !(s > 0); });
  if (bad == data.sigma.end()) return;
  throw BadData(
      fmt::format("{}:{}: sigma is {}; standard deviations must be positive: correct it, or leave the row "
                  "out with --where",
                  data.source, data.line(static_cast<std::size_t>(bad - data.sigma.begin())), *bad));
}

}  // namespace

FitData select_data(CsvReader& reader, const Selection& selection) {
  FitData data;
  data.source = reader.source().name;
  data.shape = reader.shape();
  const Range range = parse_range(selection.range);
  parse_selection(data, reader, selection);
  std::vector<ColumnExpression> conditions;
  for (const std::string& text : selection.where) {
    conditions.push_back(parse_column_expression(text, data.shape, reader.origin(), "--where"));
  }
  ReadColumns columns;
  for (const ColumnExpression& expression : data.x) columns.want(expression);
  columns.want(data.y_expression);
  if (data.sigma_expression) columns.want(*data.sigma_expression);
  for (const ColumnExpression& expression : conditions) columns.want(expression);

  CsvColumns read = reader.read(columns.numbers());
  columns.fill(std::move(read.values));
  data.lines = std::move(read.lines);
  data.dropped_missing = read.dropped_missing;
  data.rows_in_file = read.rows + read.dropped_missing;
  data.underflows = read.underflows;
  data.first_underflow = std::move(read.first_underflow);
  data.description = describe(reader, data.rows_in_file);

  apply_where(data, columns, conditions);
  const std::size_t rows = read.rows - data.excluded_where;
  for (const ColumnExpression& expression : data.x) {
    data.predictors.push_back(columns.evaluate(expression, rows));
    refuse_non_finite(data, data.predictors.back(), expression, "x");
  }
  data.y = columns.evaluate(data.y_expression, rows);
  refuse_non_finite(data, data.y, data.y_expression, "y");
  if (data.sigma_expression) {
    data.sigma = columns.evaluate(*data.sigma_expression, rows);
    refuse_non_finite(data, data.sigma, *data.sigma_expression, "sigma");
  }
  if (!selection.range.empty()) apply_range(data, range);
  refuse_bad_sigma(data);
  return data;
}

}  // namespace nlsq::cli
