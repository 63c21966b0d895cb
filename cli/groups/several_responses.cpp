// Implements stack_responses().
#include "groups/several_responses.hpp"

#include "table/read_columns.hpp"

#include <algorithm>
#include <utility>

namespace nlsq::cli {

namespace {

// The column, `times` times below itself.
Column repeated(const Column& column, std::size_t times, FitData& data) {
  const std::size_t rows = column.size();
  RowVector<double> values(rows * times);
  column.read(0, rows, values.data());
  for (std::size_t k = 1; k < times; ++k)
    std::copy_n(values.begin(), rows, values.begin() + static_cast<std::ptrdiff_t>(k * rows));
  return own(std::move(values), data);
}

}  // namespace

void stack_responses(FitData& data) {
  const std::size_t rows = data.y.size(), count = data.more_y.size() + 1;
  RowVector<double> y(rows * count), group(rows * count);
  for (std::size_t k = 0; k < count; ++k) {
    const Column& column = k == 0 ? data.y : data.more_y[k - 1];
    const ColumnExpression& expression = k == 0 ? data.y_expression : data.more_y_expressions[k - 1];
    column.read(0, rows, &y[k * rows]);
    std::fill_n(&group[k * rows], rows, static_cast<double>(k));
    data.group_texts.push_back(column_title(data.shape, expression));
  }
  for (Column& column : data.predictors) column = repeated(column, count, data);
  if (!data.sigma.empty()) data.sigma = repeated(data.sigma, count, data);
  for (Column& column : data.sigma_x) {
    if (!column.empty()) column = repeated(column, count, data);
  }
  data.y = own(std::move(y), data);
  data.group = own(std::move(group), data);
}

}  // namespace nlsq::cli
