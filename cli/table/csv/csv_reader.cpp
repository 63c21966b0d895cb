// Implements CsvReader: detects the format from the first lines, then reads the chosen columns.
#include "table/csv/csv_reader.hpp"

#include "errors.hpp"
#include "processes/file_parts.hpp"
#include "table/csv/csv_blocks.hpp"
#include "table/csv/csv_names.hpp"
#include "table/csv/csv_pipeline.hpp"
#include "table/source/utf8.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>

namespace nlsq::cli {

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

namespace {

// Returns the last line of `text`, which ends with a line ending unless it is the whole input.
std::string last_line(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
    text.remove_suffix(1);  // of the record
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.ends_with('\r')) text.remove_suffix(1);
  const std::size_t before = text.find_last_of("\r\n");
  return std::string(before == std::string_view::npos ? text : text.substr(before + 1));
}

std::size_t count_lines(std::string_view text) {
  std::size_t lines = 0;
  for (std::size_t i = 0; i < text.size(); ++i)
    lines += text[i] == '\n' || (text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n'));
  return lines;
}

}  // namespace

CsvReader::CsvReader(OpenedSource source, const CsvOptions& options)
    : text_(std::move(source), options.max_line) {
  layout_.options = options;
  text_.more();
  take_excel_separator();
  skip_lines();
  find_first_record();
  CsvShape& shape = layout_.shape;
  if (options.delimiter || excel_separator_) {
    shape.delimiter = options.delimiter ? *options.delimiter : *excel_separator_;
  } else {
    shape.delimiter = find_delimiter(text_.view(), text_.begin(), options);
  }
  std::vector<SampleRecord> records;
  for (;;) {
    const char* open_quote = nullptr;
    records = sample_records(text_.view(), text_.begin(), shape.delimiter, options.comment, 100, &open_quote);
    if (!records.empty()) break;
    text_.more(open_quote);
  }
  const auto sampled = static_cast<std::size_t>(records.back().end - records.front().begin);
  sample_record_bytes_ = std::max<std::size_t>(sampled / records.size(), 2);
  std::size_t first_data = 0;
  if (take_header(records)) {
    first_data = 1;
    if (options.header == HeaderChoice::automatic && second_record_is_units(records, options)) {
      take_units(records);
      first_data = 2;
    }
  }
  shape.times = time_columns(records, first_data, options, shape.columns());
}

// Skips Excel's line "sep=;", which is no data. --delimiter overrides it, and --skip counts it.
void CsvReader::take_excel_separator() {
  std::size_t length = 0;
  const CsvView& text = text_.view();
  excel_separator_ =
      excel_separator({text.begin(), static_cast<std::size_t>(text.end() - text.begin())}, length);
  if (!excel_separator_) return;
  layout_.shape.notes.push_back("line sep=");
  layout_.options.skip = std::max<std::size_t>(layout_.options.skip, 1);
}

void CsvReader::skip_lines() {
  const std::size_t skip = layout_.options.skip;
  for (std::size_t line = 1; line <= skip;) {
    const CsvView& text = text_.view();
    const char* p = text.begin();
    while (*p != '\n' && *p != '\r' && p != text.end()) ++p;
    if ((p == text.end() || text.is_half_an_ending(p)) && !text.at_end()) {
      text_.more();
      continue;
    }
    if (p == text.end()) fail_skip(p == text.begin() ? line - 1 : line);
    text_.consume(p + (*p == '\r' && p[1] == '\n' ? 2 : 1), ++line);
  }
}

// Throws the error that --skip leaves nothing of the `lines` lines of the file.
void CsvReader::fail_skip(std::size_t lines) const {
  throw BadData(fmt::format("{}: --skip {} leaves nothing: the file has only {} line{}", text_.source().name,
                            layout_.options.skip, lines, lines == 1 ? "" : "s"));
}

void CsvReader::find_first_record() {
  for (;;) {
    const char* p = text_.begin();
    std::size_t lines = 0;
    const Next next = skip_to_record(text_.view(), p, layout_.options.comment, lines);
    const bool empty = text_.line() == 1 && text_.begin() == text_.end();
    if (lines > 0)
      comment_before_data_ = last_line({text_.begin(), static_cast<std::size_t>(p - text_.begin())});
    text_.consume(p, text_.line() + lines);
    if (next == Next::record) return;
    if (next == Next::end) {
      const bool all_skipped = lines == 0 && text_.begin() == text_.end() && text_.line() > 1;
      if (all_skipped && layout_.options.skip + 1 == text_.line()) fail_skip(layout_.options.skip);
      throw BadData(
          fmt::format("{}:{}:1: {}", text_.source().name, text_.line(),
                      empty ? "the input is empty" : "no data: there are only blank lines and comments"));
    }
    text_.more();
  }
}

// Returns whether the first record is a header, which is then consumed.
bool CsvReader::take_header(const std::vector<SampleRecord>& records) {
  const SampleRecord& first = records.front();
  const CsvView& text = text_.view();
  const CsvOptions& options = layout_.options;
  CsvShape& shape = layout_.shape;
  layout_.shape_line = text.first_line;
  origin_ = fmt::format("{}:{}:1", text.name, text.first_line);
  shape.has_header = options.header == HeaderChoice::yes || (options.header == HeaderChoice::automatic &&
                                                             first_record_is_header(text, records, options));
  shape.names.assign(first.fields.size(), "");
  if (shape.has_header) {
    take_names(first);
    return true;
  }
  shape.has_header = options.header == HeaderChoice::automatic && take_names_from_comment(first);
  return false;
}

void CsvReader::take_names(const SampleRecord& first) {
  const CsvView& text = text_.view();
  text.check_length(first.begin, first.end);
  std::unordered_map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i < first.fields.size(); ++i) {
    const std::string& name = layout_.shape.names[i] = clean_name(first.fields[i]);
    if (name.empty()) continue;
    const auto [it, fresh] = seen.emplace(name, i);
    if (!fresh) {
      text.fail(first.begin,
                fmt::format("columns {} and {} have the same name '{}'; rename one, or give --skip {} "
                            "--header no and choose columns by number",
                            it->second + 1, i + 1, printable(name), text.first_line));
    }
  }
  text_.consume(first.end, text_.line() + first.lines);
}

bool CsvReader::take_names_from_comment(const SampleRecord& first) {
  CsvShape& shape = layout_.shape;
  auto names = names_in_comment(comment_before_data_, shape.delimiter, layout_.options, first.fields.size());
  if (!names) return false;
  shape.names = std::move(*names);
  shape.notes.push_back(fmt::format("names from the comment in line {}", text_.line() - 1));
  origin_ = fmt::format("{}:{}:1", text_.source().name, text_.line() - 1);
  return true;
}

// Keeps the row of units below the header, to compare it with that of other tables.
void CsvReader::take_units(const std::vector<SampleRecord>& records) {
  const std::string_view until_end{text_.begin(), static_cast<std::size_t>(records[1].end - text_.begin())};
  const std::size_t lines = count_lines(until_end);
  for (const auto& field : records[1].fields) layout_.shape.units.push_back(clean_name(field));
  layout_.shape.notes.push_back(
      fmt::format("units in line {} skipped", text_.line() + lines - records[1].lines));
  text_.consume(records[1].end, text_.line() + lines);
}

CsvColumns CsvReader::read(std::span<const std::size_t> columns, std::span<const TextMatch> texts,
                           std::optional<std::size_t> group) {
  layout_.slot_of.assign(layout_.shape.columns(), -1);
  for (std::size_t k = 0; k < columns.size(); ++k) layout_.slot_of.at(columns[k]) = static_cast<int>(k);
  for (std::size_t c = 0; c < layout_.shape.columns(); ++c) {
    if (const TimeOrigin* const time = layout_.shape.time(c); time != nullptr && layout_.slot_of[c] >= 0)
      layout_.special(c).origin = time->moment;
  }
  for (std::size_t k = 0; k < texts.size(); ++k)
    layout_.special(texts[k].column).texts.emplace_back(texts[k], columns.size() + k);
  layout_.slots = columns.size() + texts.size();
  if (group) {
    layout_.group_slot = layout_.slots++;
    layout_.special(*group).group_slot = static_cast<int>(layout_.group_slot);
  }
  CsvCollector collector(layout_, text_.source(), text_.line());
  RestOfInput rest = text_.rest();
  std::size_t size = text_.source().size_hint;
  std::unique_ptr<ByteSource> part;
  if (!layout_.options.parts.empty()) {
    const FilePart& of_file = layout_.options.parts.front();
    const off_t position = ::lseek(text_.source().bytes->file(), 0, SEEK_CUR);
    const auto read_before = static_cast<std::uint64_t>(std::max<off_t>(0, position));
    part = open_part(text_.source(), of_file, read_before - rest.bytes.size());
    rest = {"", part.get(), "", false};
    size = of_file.end - of_file.begin;
  }
  // Reserves the rows that the input size suggests, so that large columns are not copied as they grow.
  collector.reserve(size / sample_record_bytes_ + 1);
  BlockSource blocks(std::move(rest), layout_.options.block, layout_.options.max_line);
  read_blocks(blocks, layout_, collector, layout_.options.threads);
  collector.finish();
  return std::move(collector.columns());
}

}  // namespace nlsq::cli
