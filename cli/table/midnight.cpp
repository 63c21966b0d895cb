// Implements refuse_midnight().
#include "table/midnight.hpp"

#include "errors.hpp"

#include <fmt/format.h>

#include <cmath>
#include <unordered_map>

namespace nlsq::cli {

void refuse_midnight(const CsvShape& shape, std::size_t index, const Column& times, const Column* group,
                     const std::function<std::string(std::size_t)>& place) {
  if (!has_times_of_day(shape, index)) return;
  std::unordered_map<double, double> last;  // the time of the row before, by groups
  for (std::size_t i = 0; i < times.size(); ++i) {
    const double now = times[i];
    if (std::isnan(now)) continue;
    const auto [before, first] = last.try_emplace(group != nullptr ? (*group)[i] : 0, now);
    if (!first && now < before->second - kHalfADay)
      throw BadData(fmt::format(
          "{}: {} goes back by more than half a day: times of day do not run over midnight; write "
          "dates, as in 2024-03-01T00:01",
          place(i), column_label(shape, index)));
    before->second = now;
  }
}

}  // namespace nlsq::cli
