// Implements the limits on x.
#include "table/x_limit.hpp"

#include "errors.hpp"
#include "table/data_selection.hpp"
#include "table/numbers/number.hpp"
#include "table/source/utf8.hpp"

#include <fmt/format.h>

namespace nlsq::cli {

namespace {

// Returns false if the text is neither empty nor a limit.
bool read_limit(std::string_view text, std::optional<XLimit>& out) {
  out.reset();
  text = trim_blanks(text);
  if (text.empty()) return true;
  XLimit limit;
  if (parse_number(text, NumberFormat{}, limit.number) != NumberStatus::ok) {
    limit.moment = parse_moment(text);
    if (!limit.moment) return false;
  }
  limit.percent = text.ends_with('%');
  out = limit;
  return true;
}

}  // namespace

std::optional<XLimits> split_limits(std::string_view text) {
  for (std::size_t colon = text.find(':'); colon != std::string_view::npos;
       colon = text.find(':', colon + 1)) {
    XLimits limits;
    if (!read_limit(text.substr(0, colon), limits.first) ||
        !read_limit(text.substr(colon + 1), limits.second))
      continue;
    const auto& [low, high] = limits;
    if (low && high && low->moment.has_value() != high->moment.has_value()) continue;
    return limits;
  }
  return std::nullopt;
}

std::optional<std::vector<XLimit>> limits_in(std::string_view text) {
  std::vector<XLimit> list;
  for (;;) {
    const std::size_t comma = text.find(',');
    std::optional<XLimit> value;
    if (!read_limit(text.substr(0, comma), value) || !value) return std::nullopt;
    if (!list.empty() && list.front().moment.has_value() != value->moment.has_value()) return std::nullopt;
    list.push_back(*value);
    if (comma == std::string_view::npos) return list;
    text.remove_prefix(comma + 1);
  }
}

bool is_below(const XLimit& a, const XLimit& b) {
  return a.moment ? a.moment->nanoseconds < b.moment->nanoseconds : a.number < b.number;
}

double value_of(const XLimit& limit, const FitData& data, const std::string& option) {
  const ColumnExpression& x = data.x.front();
  if (!limit.moment) {
    const bool of_data = data.has_percents(x);
    if (x.plain && limit.number != 0 && limit.percent != of_data)
      throw UsageError(fmt::format(
          "{}: {} has {} in the data, and {} has {} here: write both in the same way", printable(option),
          column_label(data.shape, x.columns[0]), of_data ? "percent signs" : "no percent signs",
          limit.percent ? fmt::format("{:g}%", 100 * limit.number) : fmt::format("{}", limit.number),
          limit.percent ? "one" : "none"));
    return limit.number;
  }
  const TimeOrigin* const time = data.time_of_x(0);
  if (time == nullptr) {
    throw UsageError(fmt::format(
        "{}: x = {} is not a column of dates: give numbers, in its units", printable(option),
        x.plain && !data.shape.names[x.columns[0]].empty() ? data.shape.names[x.columns[0]] : x.text));
  }
  if (!limit.moment->comparable(time->moment)) {
    throw UsageError(fmt::format("{}: write dates and times in the form of the column, as in {}",
                                 printable(option), time->text));
  }
  return limit.moment->seconds_since(time->moment);
}

}  // namespace nlsq::cli
