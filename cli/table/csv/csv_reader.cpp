// Implements CsvReader: detects the format from the first lines, then reads the chosen columns.
#include "table/csv/csv_reader.hpp"

#include "errors.hpp"
#include "table/csv/csv_blocks.hpp"
#include "table/csv/csv_pipeline.hpp"
#include "table/source/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

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

CsvReader::CsvReader(OpenedSource source, const CsvOptions& options)
    : text_(std::move(source), options.max_line) {
  layout_.options = options;
  text_.more();
  skip_lines();
  find_first_record();
  CsvShape& shape = layout_.shape;
  shape.delimiter = options.delimiter.value_or(find_delimiter(text_.view(), text_.begin(), options));
  std::vector<SampleRecord> records;
  for (;;) {
    const char* open_quote = nullptr;
    records = sample_records(text_.view(), text_.begin(), shape.delimiter, options.comment, 100, &open_quote);
    if (!records.empty()) break;
    text_.more(open_quote);
  }
  const auto sampled = static_cast<std::size_t>(records.back().end - records.front().begin);
  sample_record_bytes_ = std::max<std::size_t>(sampled / records.size(), 2);
  take_header(records);
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
    if (p == text.end()) {
      text.fail(p, fmt::format("--skip {} leaves nothing: the input has {} lines", skip, line));
    }
    text_.consume(p + (*p == '\r' && p[1] == '\n' ? 2 : 1), ++line);
  }
}

void CsvReader::find_first_record() {
  for (;;) {
    const char* p = text_.begin();
    std::size_t lines = 0;
    const Next next = skip_to_record(text_.view(), p, layout_.options.comment, lines);
    const bool empty = text_.line() == 1 && text_.begin() == text_.end();
    text_.consume(p, text_.line() + lines);
    if (next == Next::record) return;
    if (next == Next::end) {
      throw BadData(
          fmt::format("{}:{}:1: {}", text_.source().name, text_.line(),
                      empty ? "the input is empty" : "no data: there are only blank lines and comments"));
    }
    text_.more();
  }
}

void CsvReader::take_header(const std::vector<SampleRecord>& records) {
  const SampleRecord& first = records.front();
  const CsvView& text = text_.view();
  const CsvOptions& options = layout_.options;
  CsvShape& shape = layout_.shape;
  layout_.shape_line = text.first_line;
  origin_ = fmt::format("{}:{}:1", text.name, text.first_line);
  shape.has_header = options.header == HeaderChoice::yes || (options.header == HeaderChoice::automatic &&
                                                             first_record_is_header(text, records, options));
  shape.names.assign(first.fields.size(), "");
  if (!shape.has_header) return;
  text.check_length(first.begin, first.end);
  std::unordered_map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i < first.fields.size(); ++i) {
    const std::string& name = shape.names[i] = trim_blanks(first.fields[i]);
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

CsvColumns CsvReader::read(std::span<const std::size_t> columns) {
  layout_.slot_of.assign(layout_.shape.columns(), -1);
  for (std::size_t k = 0; k < columns.size(); ++k) layout_.slot_of.at(columns[k]) = static_cast<int>(k);
  layout_.slots = columns.size();
  CsvCollector collector(layout_, text_.source(), text_.line());
  // Reserves the rows that the input size suggests, so that large columns are not copied as they grow.
  collector.reserve(text_.source().size_hint / sample_record_bytes_ + 1);
  BlockSource blocks(text_.rest(), layout_.options.block, layout_.options.max_line);
  read_blocks(blocks, layout_, collector, layout_.options.threads);
  collector.finish();
  return std::move(collector.columns());
}

}  // namespace nlsq::cli
