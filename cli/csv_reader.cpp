#include "csv_reader.hpp"

#include "errors.hpp"
#include "utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace nlsq::cli {

namespace {

constexpr std::size_t kSampleBytes = std::size_t{64} << 10;

bool has_digit(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// What would mend a text that should have been a number.
std::string remedy(std::string_view text, const CsvOptions& options, bool may_be_header) {
  const bool comma = text.find(',') != std::string_view::npos,
             point = text.find('.') != std::string_view::npos;
  if (has_digit(text) && comma && options.number.decimal == '.' && options.number.thousands == '\0') {
    return point ? "for a thousands separator give --thousands ," : "for a decimal comma give --decimal ,";
  }
  if (has_digit(text) && point && options.number.decimal == ',') return "numbers are read with --decimal ,";
  double value = 0;
  std::string exponent(text);
  std::replace_if(
      exponent.begin(), exponent.end(), [](char c) { return c == 'd' || c == 'D'; }, 'e');
  if (exponent != text && parse_number(exponent, options.number, value) == NumberStatus::ok) {
    return "write exponents with e";
  }
  if (may_be_header) return "if this line is a header, give --header yes";
  return "correct it, choose another column, or leave such lines out with --comment or --skip";
}

}  // namespace

std::string delimiter_name(char delimiter) {
  switch (delimiter) {
    case kBlanks: return "blanks";
    case ',': return "comma";
    case ';': return "semicolon";
    case '\t': return "tab";
    default: return fmt::format("'{}'", delimiter);
  }
}

std::string column_label(const CsvShape& shape, std::size_t index) {
  const std::string& name = shape.names[index];
  return name.empty() ? fmt::format("column {}", index + 1)
                      : fmt::format("column {} ({})", index + 1, printable(name));
}

std::size_t LineMap::line(std::size_t row) const {
  const auto after = std::upper_bound(runs_.begin(), runs_.end(), row,
                                      [](std::size_t r, const auto& run) { return r < run.first; });
  if (after == runs_.begin()) return 0;
  const auto& run = *(after - 1);
  return run.second + (row - run.first);
}

CsvReader::CsvReader(OpenedSource source, const CsvOptions& options)
    : text_(std::move(source), options.max_line), options_(options), scanner_(text_, ',') {
  skip_lines();
  fill_sample();
  std::size_t lines = 0;
  const char* p = skip_to_record(text_, text_.begin(), options_.comment, lines);
  while (p == nullptr) {
    text_.more();
    lines = 0;
    p = skip_to_record(text_, text_.begin(), options_.comment, lines);
  }
  if (p == text_.end() && text_.at_end()) {
    const bool empty = text_.line() == 1 && text_.begin() == text_.end();
    throw BadData(
        fmt::format("{}:{}:1: {}", text_.source().name, text_.line() + lines,
                    empty ? "the input is empty" : "no data: there are only blank lines and comments"));
  }
  text_.consume(p, text_.line() + lines);
  shape_.delimiter = options_.delimiter.value_or(find_delimiter(text_, text_.begin(), options_));
  scanner_ = FieldScanner(text_, shape_.delimiter);
  std::vector<SampleRecord> records;
  for (;;) {
    records = sample_records(text_, text_.begin(), shape_.delimiter, options_.comment, 100);
    if (!records.empty()) break;
    text_.more(scanner_.open_quote());
  }
  const auto sampled = static_cast<std::size_t>(records.back().end - records.front().begin);
  sample_record_bytes_ = std::max<std::size_t>(sampled / records.size(), 2);
  take_header(records);
}

void CsvReader::skip_lines() {
  std::size_t line = 1;
  while (line <= options_.skip) {
    const char* p = text_.begin();
    while (*p != '\n' && *p != '\r' && p != text_.end()) ++p;
    const bool half = *p == '\r' && p + 1 == text_.end();
    if ((p == text_.end() || half) && !text_.at_end()) {
      text_.more();
      continue;
    }
    if (p == text_.end()) {
      text_.consume(p, line);
      text_.fail(p, fmt::format("--skip {} leaves nothing: the input has {} lines", options_.skip, line));
    }
    text_.consume(p + (*p == '\r' && p[1] == '\n' ? 2 : 1), ++line);
  }
}

void CsvReader::fill_sample() {
  const std::size_t wanted = std::min(kSampleBytes, options_.max_line);
  while (!text_.at_end() && static_cast<std::size_t>(text_.end() - text_.begin()) < wanted) {
    // What is wrong further on is reported when reading gets there.
    try {
      text_.more();
    } catch (const BadData&) {
      if (text_.begin() == text_.end()) throw;
      break;
    }
  }
}

void CsvReader::take_header(const std::vector<SampleRecord>& records) {
  const SampleRecord& first = records.front();
  shape_line_ = text_.line();
  origin_ = fmt::format("{}:{}:1", text_.source().name, shape_line_);
  shape_.has_header =
      options_.header == HeaderChoice::yes ||
      (options_.header == HeaderChoice::automatic && first_record_is_header(text_, records, options_));
  shape_.names.assign(first.fields.size(), "");
  if (!shape_.has_header) return;
  std::unordered_map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i < first.fields.size(); ++i) {
    const std::string& name = shape_.names[i] = trim_blanks(first.fields[i]);
    if (name.empty()) continue;
    const auto [it, fresh] = seen.emplace(name, i);
    if (!fresh) {
      text_.fail(first.begin,
                 fmt::format("columns {} and {} have the same name '{}'; rename one, or give --skip {} "
                             "--header no and choose columns by number",
                             it->second + 1, i + 1, printable(name), shape_line_));
    }
  }
  text_.consume(first.end, text_.line() + first.lines);
}

CsvColumns CsvReader::read(std::span<const std::size_t> columns) {
  slot_of_.assign(shape_.columns(), -1);
  for (std::size_t k = 0; k < columns.size(); ++k) slot_of_[columns[k]] = static_cast<int>(k);
  row_.assign(columns.size(), 0.0);
  CsvColumns out;
  out.values.resize(columns.size());
  reserve(out);
  for (;;) {
    std::size_t lines = 0;
    const char* p = skip_to_record(text_, text_.begin(), options_.comment, lines);
    if (p == nullptr) {
      text_.more();
      continue;
    }
    text_.consume(p, text_.line() + lines);
    if (p == text_.end()) break;
    lines = 0;
    const Outcome outcome = read_record(p, lines);
    if (outcome == Outcome::need_more) {
      text_.more(scanner_.open_quote());
      continue;
    }
    if (row_underflows_ != 0 && out.underflows == 0) out.first_underflow = row_underflow_;
    out.underflows += row_underflows_;
    if (outcome == Outcome::dropped) {
      ++out.dropped_missing;
    } else {
      for (std::size_t k = 0; k < columns.size(); ++k) out.values[k].push_back(row_[k]);
      out.lines.add(out.rows++, text_.line());
    }
    text_.check_length(p);
    text_.consume(p, text_.line() + lines);
  }
  if (out.rows == 0) {
    text_.fail(text_.end(),
               out.dropped_missing > 0
                   ? fmt::format("no data left: all {} rows have missing values", out.dropped_missing)
                   : "there is a header, but no data below it");
  }
  return out;
}

CsvReader::Outcome CsvReader::read_record(const char*& p, std::size_t& lines) {
  const bool plain = options_.number.thousands == '\0';
  const std::size_t count = shape_.columns();
  row_missing_ = false;
  row_underflows_ = 0;
  for (std::size_t column = 0;; ++column) {
    if (column == count) refuse_ragged(p, column + 1, true);
    const int slot = slot_of_[column];
    After after;
    const char* number_end = nullptr;
    if (slot >= 0 && plain) {
      double value = 0;
      number_end = parse_plain_number(scanner_.skip_blanks(p), text_.end(), options_.number.decimal, value);
      if (number_end != nullptr && !scanner_.stops(*number_end))
        number_end = scanner_.skip_blanks(number_end);
      if (number_end != nullptr && !scanner_.stops(*number_end)) number_end = nullptr;
      if (number_end != nullptr) row_[static_cast<std::size_t>(slot)] = value;
    }
    if (number_end != nullptr) {
      after = scanner_.finish(number_end, lines);
      if (after != After::need_more) p = number_end;
    } else {
      Field field;
      after = scanner_.scan(p, lines, field);
      if (after != After::need_more && slot >= 0) store_slowly(field, column, static_cast<std::size_t>(slot));
    }
    if (after == After::need_more) return Outcome::need_more;
    if (after == After::delimiter) continue;
    if (column + 1 != count) refuse_ragged(p, column + 1, false);
    return row_missing_ ? Outcome::dropped : Outcome::row;
  }
}

void CsvReader::store_slowly(const Field& field, std::size_t column, std::size_t slot) {
  const NumberStatus status = parse_number(field.text, options_.number, row_[slot]);
  switch (status) {
    case NumberStatus::ok: return;
    case NumberStatus::underflow:
      if (row_underflows_++ == 0) {
        row_underflow_ = fmt::format("'{}' in line {}", printable(field.text), text_.line());
      }
      row_[slot] = 0.0;
      return;
    case NumberStatus::missing:
      if (options_.missing == MissingPolicy::error) refuse(field, column, status);
      row_missing_ = true;
      return;
    default: refuse(field, column, status);
  }
}

void CsvReader::refuse(const Field& field, std::size_t column, NumberStatus status) const {
  const std::string what = printable(field.text), where = column_label(shape_, column);
  switch (status) {
    case NumberStatus::missing:
      text_.fail(field.begin, fmt::format("{} is missing in {}; --missing drop leaves such rows out",
                                          what.empty() ? "a value" : "a value ('" + what + "')", where));
    case NumberStatus::overflow:
      text_.fail(
          field.begin,
          fmt::format("'{}' in {} is beyond the largest double (1.8e308); rescale the column", what, where));
    case NumberStatus::infinite:
      text_.fail(field.begin,
                 fmt::format("'{}' in {} is not a finite number; correct it, or leave the row out by "
                             "commenting it",
                             what, where));
    case NumberStatus::hex:
      text_.fail(field.begin,
                 fmt::format("'{}' in {} is a hexadecimal number; write it in decimal", what, where));
    default: {
      const bool may_be_header = !shape_.has_header && text_.line() == shape_line_;
      text_.fail(field.begin, fmt::format("'{}' in {} is not a number; {}", what, where,
                                          remedy(field.text, options_, may_be_header)));
    }
  }
}

void CsvReader::refuse_ragged(const char* at, std::size_t found, bool more) const {
  const char* end = at;
  if (!more) {  // `at` is behind the line ending: point before it
    while (end > text_.begin() && (end[-1] == '\n' || end[-1] == '\r')) --end;
  }
  const std::string_view record{text_.begin(), static_cast<std::size_t>(text_.end() - text_.begin())};
  text_.fail(
      end,
      fmt::format("this row has {} {} fields ({}) where line {} has {}: '{}'; correct it, quote fields that "
                  "contain the delimiter, or give --delimiter",
                  more ? "at least" : "only", found, delimiter_name(shape_.delimiter), shape_line_,
                  shape_.columns(), printable(record.substr(0, record.find_first_of("\r\n")))));
}

// Room for the rows that the size of the input promises, so that large columns are not copied as they grow.
void CsvReader::reserve(CsvColumns& out) const {
  const std::size_t expected = text_.source().size_hint / sample_record_bytes_ + 1;
  for (std::vector<double>& column : out.values) column.reserve(expected);
}

}  // namespace nlsq::cli
