// Implements has_percents() and refuse_mixed_percents().
#include "table/percent_signs.hpp"

#include "errors.hpp"

#include <fmt/format.h>

#include <cmath>

namespace nlsq::cli {

// 12% is 0.12, so a column with 12% and 25 would mix numbers a hundred times too large with others. 0 is the
// same in both ways.
bool has_percents(const Column& values, const std::string& label,
                  const std::function<bool(std::size_t)>& has_sign,
                  const std::function<std::string(std::size_t)>& place) {
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::size_t with = kNone, without = kNone;
  for (std::size_t i = 0; i < values.size() && (with == kNone || without == kNone); ++i) {
    const bool percent = has_sign(i);
    if (percent && with == kNone) with = i;
    if (!percent && without == kNone && values[i] != 0 && !std::isnan(values[i])) without = i;
  }
  if (with == kNone || without == kNone) return with != kNone;
  throw BadData(fmt::format(
      "{}: {} has a number with a percent sign here, which is {}, and {} without one at {}: write "
      "all numbers of the column with the sign, or none",
      place(with), label, values[with], values[without], place(without)));
}

void refuse_mixed_percents(const TableColumns& read, const CsvShape& shape,
                           std::span<const std::size_t> numbers) {
  for (const auto& [k, rows] : read.percents) {
    has_percents(
        read.columns[k], column_label(shape, numbers[k]),
        [&signs = rows](std::size_t i) { return signs.contains(i); },
        [&](std::size_t i) { return read.place(i); });
  }
}

}  // namespace nlsq::cli
