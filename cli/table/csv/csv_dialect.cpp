// Detects delimiter and header of a table from its first lines.
#include "table/csv/csv_dialect.hpp"

#include "table/csv/csv_fields.hpp"
#include "table/source/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace nlsq::cli {

namespace {

constexpr std::size_t kSampleLines = 100;
constexpr std::array<char, 3> kCandidates = {'\t', ';', ','};

// Occurrences of each candidate outside quotes in one record, and its number of fields separated by blanks.
struct LineCount {
  std::array<std::size_t, 3> candidates{};
  std::size_t blank_fields = 0;
};

bool is_blank(char c) { return c == ' ' || c == '\t'; }

// Counts one record at `p` and moves past it. Returns false if the record is not complete in memory. A quote
// opens only at the start of a field for some delimiter.
bool count_line(const CsvView& text, const char*& p, LineCount& count) {
  bool quoted = false, field_start = true, in_blank_field = false;
  for (const char* q = p;; ++q) {
    if (q == text.end() && !text.at_end()) return false;
    if (q == text.end()) {
      p = q;
      return true;
    }
    if (quoted) {
      quoted = *q != '"';
      field_start = !quoted;  // a doubled quote opens again at once
      continue;
    }
    if (*q == '\n' || *q == '\r') {
      p = q + (*q == '\r' && q[1] == '\n' ? 2 : 1);
      return true;
    }
    const auto which = std::find(kCandidates.begin(), kCandidates.end(), *q);
    if (which != kCandidates.end()) ++count.candidates[static_cast<std::size_t>(which - kCandidates.begin())];
    if (!is_blank(*q) && !in_blank_field) ++count.blank_fields;
    in_blank_field = !is_blank(*q);
    if (*q == '"' && field_start) quoted = true;
    field_start = which != kCandidates.end() || is_blank(*q);
  }
}

std::vector<LineCount> count_lines(const CsvView& text, const char* p, const std::string& comment) {
  std::vector<LineCount> counts;
  while (counts.size() < kSampleLines) {
    std::size_t lines = 0;
    if (skip_to_record(text, p, comment, lines) != Next::record) break;
    LineCount count;
    if (!count_line(text, p, count)) break;
    counts.push_back(count);
  }
  return counts;
}

}  // namespace

char find_delimiter(const CsvView& text, const char* p, const CsvOptions& options) {
  const std::vector<LineCount> lines = count_lines(text, p, options.comment);
  if (lines.empty()) return ',';
  std::array<std::size_t, 3> total{}, lines_with{};
  char most = '\0';
  std::size_t most_total = 0;
  for (std::size_t k = 0; k < kCandidates.size(); ++k) {
    const char c = kCandidates[k];
    if (c == options.number.decimal || c == options.number.thousands) continue;
    bool equal = true;
    for (const LineCount& line : lines) {
      total[k] += line.candidates[k];
      lines_with[k] += line.candidates[k] > 0;
      equal = equal && line.candidates[k] == lines.front().candidates[k];
    }
    if (equal && total[k] > 0) return c;
    if (c != '\t' && total[k] > most_total) most = c, most_total = total[k];
  }
  const bool blanks_equal = std::all_of(lines.begin(), lines.end(), [&](const LineCount& line) {
    return line.blank_fields == lines.front().blank_fields;
  });
  // If most lines have commas, these are delimiters followed by blanks, even if one line is ragged.
  const std::size_t punctuated = std::max(lines_with[1], lines_with[2]);
  if (blanks_equal && lines.front().blank_fields > 1 && 2 * punctuated < lines.size()) return kBlanks;
  if (total[0] > most_total) return '\t';
  if (most_total > 0) return most;
  const bool any_blanks =
      std::any_of(lines.begin(), lines.end(), [](const LineCount& l) { return l.blank_fields > 1; });
  return any_blanks ? kBlanks : ',';
}

std::vector<SampleRecord> sample_records(const CsvView& text, const char* p, char delimiter,
                                         const std::string& comment, std::size_t limit,
                                         const char** open_quote) {
  FieldScanner scanner(text, delimiter);
  std::vector<SampleRecord> records;
  while (records.size() < limit) {
    std::size_t lines = 0;
    if (skip_to_record(text, p, comment, lines) != Next::record) break;
    SampleRecord record;
    record.begin = p;
    After after = After::delimiter;
    while (after == After::delimiter) {
      Field field;
      after = scanner.scan(p, record.lines, field);
      if (after != After::need_more) record.fields.emplace_back(field.text);
    }
    if (after == After::need_more) {
      *open_quote = scanner.open_quote();
      break;
    }
    record.end = p;
    records.push_back(std::move(record));
  }
  return records;
}

bool first_record_is_header(const CsvView& text, const std::vector<SampleRecord>& records,
                            const CsvOptions& options) {
  const auto is_text = [&](const std::string& field) {
    double value = 0;
    return parse_number(field, options.number, value) == NumberStatus::text;
  };
  const std::vector<std::string>& first = records.front().fields;
  const auto texts = static_cast<std::size_t>(std::count_if(first.begin(), first.end(), is_text));
  if (texts == 0) return false;
  const auto is_empty = [](const std::string& field) { return field.empty(); };
  const auto empties = static_cast<std::size_t>(std::count_if(first.begin(), first.end(), is_empty));
  if (texts + empties == first.size()) return true;
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (!is_text(first[i])) continue;
    const bool over_numbers = std::any_of(
        records.begin() + 1, records.end(),
        [&](const SampleRecord& record) { return i < record.fields.size() && !is_text(record.fields[i]); });
    if (over_numbers) {
      text.fail(records.front().begin,
                fmt::format("the first line has numbers and text ('{}', column {}): is it a header or data? "
                            "say --header yes or --header no",
                            printable(first[i]), i + 1));
    }
  }
  return false;
}

}  // namespace nlsq::cli
