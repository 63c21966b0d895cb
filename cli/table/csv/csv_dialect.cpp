// Detects delimiter and header of a table from its first lines.
#include "table/csv/csv_dialect.hpp"

#include "errors.hpp"
#include "table/characters.hpp"
#include "table/csv/csv_comment.hpp"
#include "table/csv/csv_fields.hpp"
#include "table/numbers/date_time.hpp"
#include "table/source/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace nlsq::cli {

namespace {

constexpr std::size_t kSampleLines = 100;
constexpr std::array<char, 4> kDelimiters = {'\t', ';', ',', '|'};

// Holds the counts of one record: how often each candidate occurs outside quotes, and how many fields blanks
// separate. `first` is the first character of the first field.
struct LineCount {
  std::array<std::size_t, 4> candidates{};
  std::size_t blank_fields = 0;
  char first = '\0';

  bool begins_like_a_name() const { return (first >= 'A' && first <= 'Z') || (first >= 'a' && first <= 'z'); }
};

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
    const auto which = std::find(kDelimiters.begin(), kDelimiters.end(), *q);
    if (which != kDelimiters.end()) ++count.candidates[static_cast<std::size_t>(which - kDelimiters.begin())];
    if (!is_blank(*q) && !in_blank_field && ++count.blank_fields == 1) count.first = *q;
    in_blank_field = !is_blank(*q);
    if (*q == '"' && field_start) quoted = true;
    field_start = which != kDelimiters.end() || is_blank(*q);
  }
}

// Moves `p` past the line. Returns false if it is not complete in memory.
bool skip_line(const CsvView& text, const char*& p) {
  const char* q = p;
  while (*q != '\n' && *q != '\r' && q != text.end()) ++q;
  if (text.is_half_an_ending(q) || (q == text.end() && !text.at_end())) return false;
  p = q == text.end() ? q : q + (*q == '\r' && q[1] == '\n' ? 2 : 1);
  return true;
}

// Counts the line at `p` as if it ended where its comment begins.
LineCount count_before(const char* p, const char* comment) {
  const std::string line(p, comment);
  CsvView text;
  text.first = line.data();
  text.last = line.data() + line.size();
  const char* at = text.first;
  LineCount count;
  count_line(text, at, count);
  return count;
}

// Comments behind data do not count. In the first line, which may be a header ("sample #"), they count unless
// `cut_first`.
std::vector<LineCount> count_lines(const CsvView& text, const char* p, const std::string& comment,
                                   bool cut_first) {
  std::vector<LineCount> counts;
  while (counts.size() < kSampleLines) {
    std::size_t lines = 0;
    if (skip_to_record(text, p, comment, lines) != Next::record) break;
    const char* const begin = p;
    const char* const behind =
        counts.empty() && !cut_first ? nullptr : find_inline_comment(begin, text.end(), comment);
    if (behind != nullptr) {
      p = behind;
      if (!skip_line(text, p)) break;
      counts.push_back(count_before(begin, behind));
      continue;
    }
    LineCount count;
    if (!count_line(text, p, count)) break;
    counts.push_back(count);
  }
  return counts;
}

// Counts how often the candidates occur in all lines.
struct Totals {
  std::array<std::size_t, 4> total{}, lines_with{};
  char most = '\0';  // the candidate other than tab that occurs most
  std::size_t most_total = 0;
  char equal = '\0';  // the first candidate that occurs equally often in every line
};

Totals sum(const std::vector<LineCount>& lines, const CsvOptions& options) {
  Totals out;
  for (std::size_t k = 0; k < kDelimiters.size(); ++k) {
    const char c = kDelimiters[k];
    if (c == options.number.decimal || c == options.number.thousands) continue;
    bool equal = true;
    for (const LineCount& line : lines) {
      out.total[k] += line.candidates[k];
      out.lines_with[k] += line.candidates[k] > 0;
      equal = equal && line.candidates[k] == lines.front().candidates[k];
    }
    if (equal && out.total[k] > 0 && out.equal == '\0') out.equal = c;
    if (c != '\t' && out.total[k] > out.most_total) out.most = c, out.most_total = out.total[k];
  }
  return out;
}

bool blanks_delimit(const std::vector<LineCount>& lines, const Totals& totals) {
  const bool equal = std::all_of(lines.begin(), lines.end(), [&](const LineCount& line) {
    return line.blank_fields == lines.front().blank_fields;
  });
  // If most lines have commas, these are delimiters followed by blanks, even if one line is ragged.
  const std::size_t punctuated = *std::max_element(totals.lines_with.begin() + 1, totals.lines_with.end());
  return equal && lines.front().blank_fields > 1 && 2 * punctuated < lines.size();
}

}  // namespace

char find_delimiter(const CsvView& text, const char* p, const CsvOptions& options) {
  std::vector<LineCount> lines;
  Totals totals;
  for (const bool cut_first : {false, true}) {
    lines = count_lines(text, p, options.comment, cut_first);
    if (lines.empty()) return ',';
    totals = sum(lines, options);
    if (totals.equal != '\0') return totals.equal;
    if (blanks_delimit(lines, totals)) return kBlanks;
  }
  if (totals.total[0] > totals.most_total) return '\t';
  if (totals.most_total > 0) return totals.most;
  // If only the first line has blanks, and it begins with a letter, it is the name of a single column: "T
  // [K]".
  const bool only_in_name = lines.size() > 1 && lines.front().begins_like_a_name();
  const bool any_blanks = std::any_of(lines.begin() + (only_in_name ? 1 : 0), lines.end(),
                                      [](const LineCount& l) { return l.blank_fields > 1; });
  return any_blanks ? kBlanks : ',';
}

namespace {

// Returns the fields of a record, or none if its quotes are faulty.
std::vector<std::string> fields_of(std::string_view record, char delimiter) {
  std::string line(record);
  line.append(kPadding, '\0');
  CsvView text;
  text.first = line.data();
  text.last = line.data() + record.size();
  FieldScanner scanner(text, delimiter);
  std::vector<std::string> fields;
  std::size_t lines = 0;
  const char* p = text.first;
  try {
    After after = After::delimiter;
    while (after == After::delimiter) {
      Field field;
      after = scanner.scan(p, lines, field);
      fields.emplace_back(field.text);
    }
  } catch (const BadData&) {
    fields.clear();
  }
  return fields;
}

// Returns the fields before the comment.
std::vector<std::string> cut_fields(const char* begin, const char* comment, char delimiter) {
  return fields_of(without_comment(begin, comment, delimiter), delimiter);
}

// Returns the fields before the comment. But if only the whole record has as many fields as the first one
// (`expected`), the sign is part of a text ("apt #5"), as it is when the row is read.
std::vector<std::string> fields_of_commented(const char* begin, const char* comment, const char* end,
                                             char delimiter, std::size_t expected) {
  std::vector<std::string> fields = cut_fields(begin, comment, delimiter);
  if (fields.size() == expected || expected == 0) return fields;
  while (end != begin && (end[-1] == '\n' || end[-1] == '\r')) --end;
  std::vector<std::string> all = fields_of({begin, static_cast<std::size_t>(end - begin)}, delimiter);
  return all.size() == expected ? all : fields;
}

// Returns true if a field begins like a number, as no name of a column does.
bool has_number(const std::vector<std::string>& fields) {
  return std::any_of(fields.begin(), fields.end(), [](const std::string& field) {
    const std::size_t at = field.find_first_not_of("+-.");
    return at < 2 && field[at] >= '0' && field[at] <= '9';
  });
}

// The first record may be a header with the comment sign in a name ("sample #"). It is cut at the sign if
// only then it has as many fields as the next record.
void cut_first_record(std::vector<SampleRecord>& records, char delimiter, const std::string& comment) {
  if (records.size() < 2 || records[0].fields.size() == records[1].fields.size()) return;
  const char* const behind = find_inline_comment(records[0].begin, records[0].end, comment);
  if (behind == nullptr) return;
  std::vector<std::string> fields = cut_fields(records[0].begin, behind, delimiter);
  if (fields.size() == records[1].fields.size()) records[0].fields = std::move(fields);
}

}  // namespace

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
    const char* const behind = find_inline_comment(p, text.end(), comment);
    if (behind != nullptr && (!records.empty() || has_number(cut_fields(p, behind, delimiter)))) {
      p = behind;
      if (!skip_line(text, p)) break;
      record.fields = fields_of_commented(record.begin, behind, p, delimiter,
                                          records.empty() ? 0 : records.front().fields.size());
      record.end = p;
      record.lines = 1 + static_cast<std::size_t>(std::count(record.begin, behind, '\n'));
      records.push_back(std::move(record));
      continue;
    }
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
  cut_first_record(records, delimiter, comment);
  return records;
}

namespace {

// "5%" above numbers without percent signs is a name, not a number: marks it as text.
void name_quantiles(std::vector<std::string>& first, const std::vector<SampleRecord>& records) {
  if (records.size() < 2) return;
  const std::vector<std::string>& next = records[1].fields;
  for (std::size_t i = 0; i < std::min(first.size(), next.size()); ++i) {
    if (first[i].ends_with('%') && !next[i].ends_with('%')) first[i] += " name";
  }
}

}  // namespace

bool first_record_is_header(const CsvView& text, const std::vector<SampleRecord>& records,
                            const CsvOptions& options) {
  const auto is_text = [&](const std::string& field) {
    double value = 0;
    return parse_number(field, options.number, value) == NumberStatus::text && !parse_moment(field);
  };
  std::vector<std::string> first = records.front().fields;
  name_quantiles(first, records);
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
