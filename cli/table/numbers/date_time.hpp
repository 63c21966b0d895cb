// Parses dates and times of ISO 8601 in table cells. The CSV reader turns them into seconds since the first
// one of their column.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nlsq::cli {

// This is a point in time, or a time of day without a date.
struct Moment {
  bool has_date = false;
  bool has_offset = false;       // "Z" or "+02:00" is given
  std::int64_t nanoseconds = 0;  // since 1970-01-01T00:00Z; without an offset the time is taken as UTC

  // Returns true if two moments can be subtracted: both have a date or neither has, and the same holds for
  // offsets.
  bool comparable(const Moment& other) const {
    return has_date == other.has_date && has_offset == other.has_offset;
  }
  double seconds_since(const Moment& origin) const {
    return static_cast<double>(nanoseconds - origin.nanoseconds) / 1e9;
  }
};

// Reads "2024-03-01", "2024-03-01T12:00", "2024-03-01 12:00:00.25+01:00", "12:00:00" and the like, for years
// 1700 to 2250. Seconds may have a fraction after "." or ","; digits after the ninth are ignored. Returns
// nothing for any other text and for days and times that do not exist.
std::optional<Moment> parse_moment(std::string_view text) noexcept;

// Writes the moment so many seconds after `origin`, to the nanosecond (after 46 days to the microsecond), in
// a form that parse_moment() reads: at midnight the date alone. Returns nothing for moments that it does not
// read.
std::optional<std::string> moment_text(const Moment& origin, double seconds);

// Returns true if `text` is a date or a time of day for a reader, such as 01/03/2024, 3-Mar-24 or 9:05 PM, in
// a form that parse_moment() may not read.
bool looks_like_date(std::string_view text) noexcept;

// Returns true if a date and a time of day follow each other, with blanks between them.
bool has_date_and_time(std::string_view record);

// The forms of dates and times that parse_moment() reads, for messages.
inline constexpr std::string_view kDateForms = "2024-03-01, 2024-03-01T12:00:00 or 12:00:00";

}  // namespace nlsq::cli
