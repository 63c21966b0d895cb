// Limits on x in options such as --range A:B and --predict A:B:N: numbers, or dates and times if the column
// of x has dates.
#pragma once

#include "table/numbers/date_time.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nlsq::cli {

struct FitData;

struct XLimit {
  double number = 0;
  std::optional<Moment> moment = {};  // instead of the number
  bool percent = false;               // the number was written with a percent sign, and is a hundredth of it
};

// Splits "A:B" into two limits, which are both numbers or both dates. Times contain colons as well, so each
// colon of the text is tried. An empty side gives no limit. Returns nothing if the text has no such form.
using XLimits = std::pair<std::optional<XLimit>, std::optional<XLimit>>;
std::optional<XLimits> split_limits(std::string_view text);

// Reads values of x between commas, as in 350 or 10,20,50: all numbers or all dates. Returns nothing for any
// other text.
std::optional<std::vector<XLimit>> limits_in(std::string_view text);

// Returns true if a is below b. Both must be numbers, or both dates, as split_limits() gives them.
bool is_below(const XLimit& a, const XLimit& b);

// Returns the limit as a value of the first predictor. For dates, these are the seconds since the first one
// of its column. Throws UsageError, which names the option and its text, if the predictor has no dates, or
// others. Does the same if one of a number and the predictor's column has percent signs and the other has
// none.
double value_of(const XLimit& limit, const FitData& data, const std::string& option);

}  // namespace nlsq::cli
