// Implements the search for column names, units and dates in the first lines of a table.
#include "table/csv/csv_names.hpp"

#include "table/numbers/number_forms.hpp"

#include <algorithm>
#include <cctype>

namespace nlsq::cli {

namespace {

NumberStatus status_of(const std::string& cell, const CsvOptions& options) {
  double value = 0;
  return parse_number(cell, options.number, value);
}

bool is_number_or_date(const std::string& cell, const CsvOptions& options) {
  const NumberStatus status = status_of(cell, options);
  return status == NumberStatus::ok || status == NumberStatus::underflow || parse_moment(cell).has_value();
}

// The same, or a number with a decimal comma that has not been asked for. Such a number below a line of units
// must be the cell that the error is about, since its message names --decimal.
bool may_be_number_or_date(const std::string& cell, const CsvOptions& options) {
  if (is_number_or_date(cell, options)) return true;
  if (options.number.decimal != '.' || options.number.thousands != '\0') return false;
  CsvOptions with_comma = options;
  with_comma.number.decimal = ',';
  return is_number_or_date(cell, with_comma);
}

// A word of a comment that may name a column. A number or a date hints at data in a comment.
bool is_name(const std::string& cell, const CsvOptions& options) {
  return status_of(cell, options) == NumberStatus::text && !parse_moment(cell);
}

std::vector<std::string> cells_of(std::string_view line, char delimiter) {
  std::string padded(line);
  padded.append(kPadding, '\0');
  CsvView view;
  view.first = padded.data();
  view.last = padded.data() + line.size();
  const char* open_quote = nullptr;
  const std::vector<SampleRecord> records = sample_records(view, view.first, delimiter, "", 1, &open_quote);
  std::vector<std::string> cells;
  if (!records.empty()) cells = records.front().fields;
  for (std::string& cell : cells) cell = clean_name(cell);
  return cells;
}

}  // namespace

std::string clean_name(std::string_view text) {
  text = trim_spaces(text);
  std::string name;
  while (!text.empty()) {
    const std::size_t hidden = zero_width(text);
    if (hidden == 0) name += text[0];
    text.remove_prefix(std::max<std::size_t>(hidden, 1));
  }
  return name;
}

std::optional<std::vector<std::string>> names_in_comment(std::string_view line, char delimiter,
                                                         const CsvOptions& options, std::size_t columns) {
  line = trim_spaces(line);
  if (options.comment.empty() || line.find('"') != std::string_view::npos) return std::nullopt;
  while (line.starts_with(options.comment)) line.remove_prefix(options.comment.size());
  line = trim_spaces(line);
  for (const char separator : {delimiter, kBlanks}) {
    std::vector<std::string> names = cells_of(line, separator);
    if (names.size() != columns) continue;
    const bool all =
        std::all_of(names.begin(), names.end(), [&](const std::string& n) { return is_name(n, options); });
    std::vector<std::string> sorted = names;
    std::sort(sorted.begin(), sorted.end());
    if (all && std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end()) return names;
  }
  return std::nullopt;
}

bool second_record_is_units(const std::vector<SampleRecord>& records, const CsvOptions& options) {
  if (records.size() < 3) return false;
  const std::vector<std::string>&units = records[1].fields, &next = records[2].fields;
  if (units.size() != records[0].fields.size() || next.size() != units.size()) return false;
  const auto is_text = [&](const std::string& cell) {
    return is_name(cell, options) && !may_be_number_or_date(cell, options);
  };
  const auto is_unit = [&](const std::string& cell) {
    return trim_spaces(cell).empty() || cell == "-" || is_text(cell);
  };
  return std::all_of(units.begin(), units.end(), is_unit) &&
         std::any_of(units.begin(), units.end(), is_text) &&
         std::all_of(next.begin(), next.end(),
                     [&](auto& cell) { return may_be_number_or_date(cell, options); });
}

std::vector<std::optional<TimeOrigin>> time_columns(const std::vector<SampleRecord>& records,
                                                    std::size_t first, const CsvOptions& options,
                                                    std::size_t columns) {
  std::vector<std::optional<TimeOrigin>> origins(columns);
  for (std::size_t c = 0; c < columns; ++c) {
    for (std::size_t r = first; r < records.size(); ++r) {
      if (c >= records[r].fields.size()) break;
      const std::string& cell = records[r].fields[c];
      if (status_of(cell, options) == NumberStatus::missing) continue;
      if (const auto moment = parse_moment(cell))
        origins[c] = TimeOrigin{std::string(trim_spaces(cell)), *moment};
      break;
    }
  }
  return origins;
}

std::optional<char> excel_separator(std::string_view text, std::size_t& length) {
  const bool quoted = text.starts_with('"');
  const std::string_view key = text.substr(quoted ? 1 : 0, 4);
  constexpr std::string_view kKey = "sep=";
  const bool same =
      key.size() == kKey.size() && std::equal(key.begin(), key.end(), kKey.begin(), [](char a, char b) {
        return std::tolower(static_cast<unsigned char>(a)) == b;
      });
  const std::size_t at = kKey.size() + (quoted ? 1 : 0);
  if (!same || text.size() <= at || (quoted && text.substr(at + 1, 1) != "\"")) return std::nullopt;
  length = at + 1 + (quoted ? 1 : 0);
  const bool ends = text.size() == length || text[length] == '\r' || text[length] == '\n';
  constexpr std::string_view kRefused = "0123456789+-.\"\r\n";
  if (!ends || kRefused.find(text[at]) != std::string_view::npos ||
      std::isalpha(static_cast<unsigned char>(text[at])))
    return std::nullopt;
  return text[at] == ' ' ? kBlanks : text[at];
}

}  // namespace nlsq::cli
