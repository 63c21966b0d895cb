// Implements the parser of ISO 8601 dates and times.
#include "table/numbers/date_time.hpp"

#include "table/characters.hpp"
#include "table/numbers/number_forms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

namespace nlsq::cli {

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

// Reads a text from left to right. Each function returns whether it found what it looks for.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }
  bool accept(char c) {
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // Reads exactly `count` digits with a value of at most `most`.
  bool digits(std::size_t count, std::int64_t most, std::int64_t& value) {
    if (rest_.size() < count) return false;
    value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (!is_digit(rest_[i])) return false;
      value = 10 * value + (rest_[i] - '0');
    }
    rest_.remove_prefix(count);
    return value <= most;
  }
  // Reads the digits of a fraction of a second, as nanoseconds.
  bool fraction(std::int64_t& nanoseconds) {
    std::int64_t unit = kSecond / 10;
    nanoseconds = 0;
    std::size_t n = 0;
    for (; n < rest_.size() && is_digit(rest_[n]); ++n, unit /= 10) nanoseconds += unit * (rest_[n] - '0');
    rest_.remove_prefix(n);
    return n > 0;
  }

 private:
  std::string_view rest_;
};

bool read_date(Cursor& cursor, std::int64_t& days) {
  std::int64_t year = 0, month = 0, day = 0;
  if (!cursor.digits(4, 2250, year) || year < 1700 || !cursor.accept('-') || !cursor.digits(2, 12, month) ||
      !cursor.accept('-') || !cursor.digits(2, 31, day))
    return false;
  using namespace std::chrono;
  const year_month_day date{std::chrono::year(static_cast<int>(year)),
                            std::chrono::month(static_cast<unsigned>(month)),
                            std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return false;
  days = sys_days(date).time_since_epoch().count();
  return true;
}

// Reads HH:MM, HH:MM:SS or HH:MM:SS.fff. A leap second, and 24:00:00 for the end of the day, are accepted.
bool read_time(Cursor& cursor, std::int64_t& nanoseconds) {
  std::int64_t hours = 0, minutes = 0, seconds = 0, part = 0;
  if (!cursor.digits(2, 24, hours) || !cursor.accept(':') || !cursor.digits(2, 59, minutes)) return false;
  if (cursor.accept(':')) {
    if (!cursor.digits(2, 60, seconds)) return false;
    if ((cursor.accept('.') || cursor.accept(',')) && !cursor.fraction(part)) return false;
  }
  nanoseconds = (3600 * hours + 60 * minutes + seconds) * kSecond + part;
  return nanoseconds <= 86400 * kSecond;
}

// Reads Z, +HH:MM, +HHMM or +HH, or nothing.
bool read_offset(Cursor& cursor, Moment& moment) {
  if (cursor.at_end()) return true;
  moment.has_offset = true;
  if (cursor.accept('Z') || cursor.accept('z')) return true;
  const bool west = cursor.accept('-');
  std::int64_t hours = 0, minutes = 0;
  if ((!west && !cursor.accept('+')) || !cursor.digits(2, 23, hours)) return false;
  const bool colon = cursor.accept(':');
  if ((colon || !cursor.at_end()) && !cursor.digits(2, 59, minutes)) return false;
  const std::int64_t offset = (3600 * hours + 60 * minutes) * kSecond;
  moment.nanoseconds += west ? offset : -offset;
  return true;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Returns true if a word of the text is a month, or its first three letters.
bool names_month(std::string_view text) {
  constexpr std::string_view kMonths[] = {"january",   "february", "march",    "april",
                                          "may",       "june",     "july",     "august",
                                          "september", "october",  "november", "december"};
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = begin;
    while (end < text.size() && is_letter(text[end])) ++end;
    const std::string_view word = text.substr(begin, end - begin);
    for (const std::string_view month : kMonths) {
      if (word.size() != 3 && word.size() != month.size()) continue;
      std::size_t same = 0;
      while (same < word.size() && (word[same] | 0x20) == month[same]) ++same;
      if (same == word.size()) return true;
    }
    begin = end + 1;
  }
  return false;
}

// Returns the lengths of the groups of digits that `separator` divides at the start of the text. The result
// is empty if another character than a blank or a T follows.
std::vector<std::size_t> digit_groups(std::string_view text, char separator) {
  std::vector<std::size_t> lengths(1);
  std::size_t at = 0;
  for (; at < text.size() && (is_digit(text[at]) || text[at] == separator); ++at) {
    if (text[at] == separator) lengths.push_back(0);
    else ++lengths.back();
  }
  const bool ends = at == text.size() || text[at] == ' ' || text[at] == 'T';
  return ends ? lengths : std::vector<std::size_t>();
}

}  // namespace

std::optional<std::string> moment_text(const Moment& origin, double seconds) {
  using namespace std::chrono;
  constexpr double kMost = 9e9;   // some 285 years
  constexpr double kExact = 4e6;  // so many seconds have all their nanoseconds in a double
  if (!(std::fabs(seconds) <= kMost)) return std::nullopt;
  const bool exact = std::fabs(seconds) <= kExact;
  const auto later = exact ? std::llround(seconds * 1e9) : 1000 * std::llround(seconds * 1e6);
  const auto since = nanoseconds(origin.nanoseconds + later);
  const auto day = floor<days>(since);
  const hh_mm_ss time(since - day);
  const auto fraction = time.subseconds().count();
  std::string text =
      fmt::format("{:02}:{:02}:{:02}", time.hours().count(), time.minutes().count(), time.seconds().count());
  if (fraction != 0) {
    text += fmt::format(".{:09}", fraction);
    text.erase(text.find_last_not_of('0') + 1);
  }
  if (!origin.has_date) return day.count() == 0 ? std::optional(text) : std::nullopt;
  const year_month_day date{sys_days(day)};
  std::string all = fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  if (since != day || origin.has_offset) all += 'T' + text + (origin.has_offset ? "Z" : "");
  return parse_moment(all) ? std::optional(all) : std::nullopt;
}

bool looks_like_date(std::string_view text) noexcept {
  text = trim_spaces(text);
  if (text.find_first_of("0123456789") == std::string_view::npos) return false;
  if (names_month(text)) return true;
  const auto one_or_two = [](std::size_t length) { return length == 1 || length == 2; };
  for (const char separator : {'/', '.', '-'}) {
    const std::vector<std::size_t> of = digit_groups(text, separator);
    if (of.size() != 3 || !one_or_two(of[1])) continue;
    if (one_or_two(of[0]) && (of[2] == 2 || of[2] == 4)) return true;
    if (of[0] == 4 && one_or_two(of[2])) return true;
  }
  const std::vector<std::size_t> time = digit_groups(text, ':');
  return (time.size() == 2 || time.size() == 3) && one_or_two(time[0]) && time[1] == 2 && time.back() == 2;
}

std::optional<Moment> parse_moment(std::string_view text) noexcept {
  text = trim_spaces(text);
  if (text.size() < 5 || !is_digit(text[0])) return std::nullopt;
  Cursor cursor(text);
  Moment moment;
  std::int64_t days = 0, time = 0;
  moment.has_date = text[2] != ':';
  if (moment.has_date && !read_date(cursor, days)) return std::nullopt;
  if (moment.has_date && !cursor.at_end()) {
    if (!cursor.accept('T') && !cursor.accept('t') && !cursor.accept(' ')) return std::nullopt;
    if (cursor.at_end()) return std::nullopt;
  }
  if (!cursor.at_end() && !read_time(cursor, time)) return std::nullopt;
  moment.nanoseconds = days * 86400 * kSecond + time;
  if (cursor.accept(' ') && cursor.at_end()) return std::nullopt;  // "12:00:00 +01:00" has a blank
  if (!read_offset(cursor, moment) || !cursor.at_end()) return std::nullopt;
  if (!moment.has_date && moment.has_offset) return std::nullopt;
  return moment;
}

bool has_date_and_time(std::string_view record) {
  bool date_before = false;
  while (!record.empty()) {
    const std::size_t end = std::min(record.find_first_of(" \t"), record.size());
    if (const auto moment = parse_moment(record.substr(0, end)); end > 0) {
      if (moment && date_before && !moment->has_date) return true;
      date_before = moment && moment->has_date;
    }
    record.remove_prefix(std::min(end + 1, record.size()));
  }
  return false;
}

}  // namespace nlsq::cli
