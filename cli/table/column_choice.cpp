// Implements choose_columns(): parses what --x, --y, --sigma, --sigma-x and --group-by name.
#include "table/column_choice.hpp"

#include "errors.hpp"
#include "table/numbers/number.hpp"
#include "table/source/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace nlsq::cli {

namespace {

// A bare number is a column, as everywhere. A user who writes --sigma 1 may mean a constant.
void refuse_ambiguous_sigma(const FitData& data, const std::string& sigma) {
  const std::string_view text = trim_blanks(sigma);
  const bool digits =
      !text.empty() && text.size() < 9 && text.find_first_not_of("0123456789") == std::string_view::npos;
  if (!digits) return;
  const std::size_t column = std::stoul(std::string(text)) - 1;
  const auto is = [&](const ColumnExpression& e) { return e.plain && e.columns[0] == column; };
  const bool chosen = is(data.y_expression) || std::any_of(data.x.begin(), data.x.end(), is);
  if (column < data.shape.columns() && !chosen) return;
  const std::string advice = fmt::format("for a constant standard deviation write --sigma {}.0", text);
  if (!chosen) {
    throw UsageError(fmt::format("--sigma {} is the number of a column, but there are only {} columns; {}",
                                 text, data.shape.columns(), advice));
  }
  throw UsageError(
      fmt::format("--sigma {} is the number of a column, which is already x or y; {}, and for this column "
                  "--sigma '${}'",
                  text, advice, text));
}

// Returns the parts of a list of columns. There is one part if a column has that whole name.
std::vector<std::string> parts_of(const FitData& data, const std::string& text) {
  return std::ranges::find(data.shape.names, text) != data.shape.names.end() ? std::vector{text}
                                                                             : split_list(text);
}

template <class Parse>
void parse_sigmas(FitData& data, const Selection& selection, const Parse& parse) {
  refuse_ambiguous_sigma(data, selection.sigma);
  if (const std::size_t parts = parts_of(data, selection.sigma).size(); parts > 1) {
    throw UsageError(
        fmt::format("--sigma {}: {} columns are given, and one is expected: the standard deviations of y{}",
                    printable(selection.sigma, 200), parts,
                    data.more_y_expressions.empty() ? "" : ", which all columns of --y share"));
  }
  if (!selection.sigma.empty()) data.sigma_expression = parse(selection.sigma, "--sigma");
  if (!selection.sigma_x.empty()) {
    const std::vector<std::string> parts = parts_of(data, selection.sigma_x);
    if (parts.size() != data.x.size()) {
      throw UsageError(
          fmt::format("--sigma-x {}: {} part{} given, and --x chose {} column{}: give one for each, an "
                      "empty one for an exact x",
                      printable(selection.sigma_x, 200), parts.size(), parts.size() == 1 ? " is" : "s are",
                      data.x.size(), data.x.size() == 1 ? "" : "s"));
    }
    for (const std::string& part : parts) {
      auto& expression = data.sigma_x_expressions.emplace_back();
      if (!trim_blanks(part).empty()) expression = parse(part, "--sigma-x");
    }
  }
}

template <class Parse>
void parse_group(FitData& data, const Selection& selection, const Parse& parse) {
  if (selection.group_by.empty()) return;
  if (parts_of(data, selection.group_by).size() > 1) {
    throw UsageError(
        fmt::format("--group-by {}: give one column; for groups by several, write a column that "
                    "joins them",
                    printable(selection.group_by, 200)));
  }
  data.group_expression = parse(selection.group_by, "--group-by");
  if (!data.group_expression->plain || data.group_expression->columns[0] == kRowNumber) {
    throw UsageError(fmt::format("--group-by {}: give one column, by its name or number",
                                 printable(selection.group_by, 200)));
  }
}

}  // namespace

void choose_columns(FitData& data, const Table& table, const Selection& selection) {
  const auto parse = [&](std::string_view text, const char* option) {
    return parse_column_expression(text, data.shape, table.origin(), option);
  };
  parse_group(data, selection, parse);
  // Without --x and --y, x and y are the first two columns, not counting that of the groups.
  const std::size_t group = data.group_expression ? data.group_expression->columns[0] : kRowNumber;
  const std::size_t first = group == 0 ? 1 : 0, second = group == first + 1 ? first + 2 : first + 1;
  const auto or_column = [](const std::string& text, std::size_t column) {
    return text.empty() ? fmt::format("${}", column + 1) : text;
  };
  for (const std::string& part : parts_of(data, or_column(selection.x, first)))
    data.x.push_back(parse(part, "--x"));
  const std::vector<std::string> responses = parts_of(data, or_column(selection.y, second));
  data.y_expression = parse(responses.front(), "--y");
  for (std::size_t k = 1; k < responses.size(); ++k) {
    if (std::count(responses.begin(), responses.begin() + static_cast<std::ptrdiff_t>(k), responses[k]) > 0)
      throw UsageError(fmt::format("--y {}: {} is named twice, and its rows would count twice", selection.y,
                                   responses[k]));
    data.more_y_expressions.push_back(parse(responses[k], "--y"));
  }
  parse_sigmas(data, selection, parse);
  if (selection.y.empty() && data.x.front().plain && data.x.front().columns[0] == second) {
    throw UsageError(fmt::format(
        "--x chose column {}, which is also what y would be; say which column is y with --y", second + 1));
  }
}

}  // namespace nlsq::cli
