// Implements ReadColumns.
#include "table/read_columns.hpp"

#include "errors.hpp"
#include "table/block_evaluator.hpp"
#include "table/condition_warnings.hpp"
#include "table/merged_numbers.hpp"
#include "table/midnight.hpp"
#include "table/percent_signs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <memory>
#include <utility>

namespace nlsq::cli {

namespace {

template <class T>
std::size_t place_in(const std::vector<T>& list, const T& value) {
  return static_cast<std::size_t>(std::find(list.begin(), list.end(), value) - list.begin());
}

}  // namespace

RowVector<double> compress(const Column& column, const Rows& rows) {
  RowVector<double> out(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) out[i] = column[rows[i]];
  return out;
}

Column own(RowVector<double>&& values, FitData& data) {
  auto memory = std::make_shared<RowVector<double>>(std::move(values));
  const Column column(*memory);
  data.memory.push_back(std::move(memory));
  return column;
}

void ReadColumns::want(const ColumnExpression& expression) {
  for (const std::size_t column : expression.columns) {
    if (column == kRowNumber) {
      row_number_ = true;
    } else if (column >= kFirstText) {
      const TextMatch& match = expression.texts[column - kFirstText];
      if (place_in(texts_, match) == texts_.size()) texts_.push_back(match);
    } else if (place_in(numbers_, column) == numbers_.size()) {
      numbers_.push_back(column);
    }
  }
}

void ReadColumns::want_if_there(const ColumnExpression& expression) {
  for (const std::size_t column : expression.columns) {
    const bool is_number = column < kRowNumber && column != group_;
    if (is_number && place_in(numbers_, column) == numbers_.size()) if_there_.push_back(column);
  }
  want(expression);
}

void ReadColumns::want_condition(const ColumnExpression& expression) {
  if (!has_conditions_) of_fit_ = numbers_.size();
  has_conditions_ = true;
  in_conditions_.insert(in_conditions_.end(), expression.columns.begin(), expression.columns.end());
  want(expression);
}

void ReadColumns::want_range(const ColumnExpression& x) {
  if (!has_conditions_) want_condition(x);
}

TableColumns ReadColumns::read(Table& table, FitData& data) {
  data.lacks_y = !if_there_.empty() && table.keep_missing(if_there_);
  if (has_conditions_) {
    const auto in_condition = [&](std::size_t column) {
      return place_in(in_conditions_, column) < in_conditions_.size();
    };
    std::vector<std::size_t> later = with_group(numbers_, group_), compared = numbers_;
    std::erase_if(later, in_condition);
    std::erase_if(compared, std::not_fn(in_condition));
    table.judge_later(std::move(later), std::move(compared));
  }
  TableColumns read = table.read(numbers_, texts_, group_);
  columns_ = std::move(read.columns);
  data.memory = std::move(read.memory);
  if (row_number_) {
    RowVector<double> numbers(read.rows);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = read.row_number(i);
    columns_.push_back(own(std::move(numbers), data));
  }
  return read;
}

void ReadColumns::keep_rows(const Rows& rows, FitData& data) {
  const auto before = std::exchange(data.memory, {});
  for (Column& column : columns_) column = own(compress(column, rows), data);
}

Column ReadColumns::evaluate(const ColumnExpression& expression, std::size_t rows, FitData& data) const {
  if (expression.plain) return columns_[place(expression, 0)];
  RowVector<double> out(rows);
  evaluate_rows(expression.formula, columns_of(expression), {}, out);
  return own(std::move(out), data);
}

void ReadColumns::warn_of(const ColumnExpression& condition, FitData& data) const {
  const std::vector<Column> columns = columns_of(condition);
  const auto has_signs = [&](std::size_t k) {
    return std::ranges::any_of(data.read.percents,
                               [&](const auto& percents) { return percents.first == place(condition, k); });
  };
  std::ranges::move(warnings_of_condition(condition, data.shape, columns, has_signs),
                    std::back_inserter(data.warnings));
}

bool ReadColumns::is_missing(const ColumnExpression& expression, std::size_t row) const {
  for (std::size_t k = 0; k < expression.columns.size(); ++k) {
    if (std::isnan(columns_[place(expression, k)][row])) return true;
  }
  return false;
}

void ReadColumns::refuse_some_percents(FitData& data, const ColumnExpression* of) const {
  data.percent_columns.clear();
  for (const auto& [place, percents] : data.read.percents) {
    if (place >= numbers_.size()) continue;
    if (of != nullptr && place_in(of->columns, numbers_[place]) == of->columns.size()) continue;
    const auto has_sign = [&](std::size_t i) {
      return percents.contains(data.kept.empty() ? i : data.kept[i]);
    };
    const bool found = has_percents(columns_[place], column_label(data.shape, numbers_[place]), has_sign,
                                    [&](std::size_t i) { return data.place(i); });
    if (found) data.percent_columns.push_back(numbers_[place]);
  }
}

void ReadColumns::warn_of_merged_numbers(FitData& data) const {
  for (std::size_t k = 0; k < (has_conditions_ ? of_fit_ : numbers_.size()); ++k) {
    std::string warning = cli::warning_of_merged_numbers(columns_[k], column_label(data.shape, numbers_[k]));
    if (!warning.empty()) data.warnings.push_back(std::move(warning));
  }
}

void ReadColumns::refuse_midnight(const FitData& data, Times which) const {
  for (std::size_t k = 0; k < numbers_.size(); ++k) {
    const bool compared = place_in(in_conditions_, numbers_[k]) < in_conditions_.size();
    if (compared && k >= of_fit_) continue;  // the fit does not need it
    if (which == Times::in_conditions && !compared) continue;
    cli::refuse_midnight(data.shape, numbers_[k], columns_[k], group_ ? &group() : nullptr,
                         [&](std::size_t row) { return data.place(row); });
  }
}

std::vector<Column> ReadColumns::columns_of(const ColumnExpression& expression) const {
  std::vector<Column> out;
  for (std::size_t k = 0; k < expression.columns.size(); ++k) out.push_back(columns_[place(expression, k)]);
  return out;
}

// Returns the place in columns_ of column k of the expression.
std::size_t ReadColumns::place(const ColumnExpression& expression, std::size_t k) const {
  const std::size_t column = expression.columns[k];
  if (column == kRowNumber) return columns_.size() - 1;
  if (column >= kFirstText) return numbers_.size() + place_in(texts_, expression.texts[column - kFirstText]);
  return place_in(numbers_, column);
}

}  // namespace nlsq::cli
