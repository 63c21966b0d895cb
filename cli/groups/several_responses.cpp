// Implements stack_responses().
#include "groups/several_responses.hpp"

#include "errors.hpp"
#include "table/read_columns.hpp"
#include "table/source/utf8.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace nlsq::cli {

void stack_responses(FitData& data) {
  const std::size_t rows = data.y.size(), count = data.more_y.size() + 1;
  RowVector<double> y, group;
  Rows stacked;  // the row of the table for each row of the stack
  for (std::size_t k = 0; k < count; ++k) {
    const Column& column = k == 0 ? data.y : data.more_y[k - 1];
    const ColumnExpression& expression = k == 0 ? data.y_expression : data.more_y_expressions[k - 1];
    const std::size_t before = y.size();
    for (std::size_t i = 0; i < rows; ++i) {
      const double value = column[i];
      if (std::isnan(value)) continue;
      y.push_back(value);
      stacked.push_back(i);
    }
    if (y.size() == before) {
      throw BadData(fmt::format("{}: y = {} is missing in all {} rows; leave it out of --y", data.source,
                                printable(expression.text, 200), rows));
    }
    group.resize(y.size(), static_cast<double>(k));
    data.missing_y += rows - (y.size() - before);
    data.group_texts.push_back(column_title(data.shape, expression));
  }
  const auto repeated = [&](const Column& column) { return own(compress(column, stacked), data); };
  for (Column& column : data.predictors) column = repeated(column);
  if (!data.sigma.empty()) data.sigma = repeated(data.sigma);
  for (Column& column : data.sigma_x) {
    if (!column.empty()) column = repeated(column);
  }
  data.y = own(std::move(y), data);
  data.group = own(std::move(group), data);
  data.rows_before_stack = rows;
  if (!data.kept.empty()) {
    for (std::size_t& row : stacked) row = data.kept[row];
  }
  data.kept = std::move(stacked);
}

}  // namespace nlsq::cli
