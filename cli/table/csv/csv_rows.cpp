// Implements CsvRows: parses the records of a piece of text.
#include "table/csv/csv_rows.hpp"

#include "errors.hpp"

#include <algorithm>

namespace nlsq::cli {

std::size_t LineMap::line(std::size_t row) const {
  const auto after = std::upper_bound(runs_.begin(), runs_.end(), row,
                                      [](std::size_t r, const auto& run) { return r < run.first; });
  if (after == runs_.begin()) return 0;
  const auto& run = *(after - 1);
  return run.second + (row - run.first);
}

void LineMap::append(const LineMap& other, std::size_t row, std::size_t line) {
  for (const auto& [first, its_line] : other.runs_) add(row + first, line + its_line);
}

bool RowRuns::contains(std::size_t row) const {
  const auto after = std::upper_bound(runs_.begin(), runs_.end(), row,
                                      [](std::size_t r, const auto& run) { return r < run.first; });
  return after != runs_.begin() && row < (after - 1)->second;
}

RowRuns& rows_of(PercentRows& percents, std::size_t column) {
  for (auto& [known, rows] : percents) {
    if (known == column) return rows;
  }
  return percents.emplace_back(column, RowRuns()).second;
}

void CsvRows::parse(const CsvLayout& layout, const CsvView& text) {
  count = lines = underflows = used = 0;
  at_fault = false;
  line_of.clear();
  dropped_before.clear();
  groups.clear();
  late_faults.clear();
  percents.clear();
  make_room(layout, text);
  try {
    parse_records(layout, text);
  } catch (const BadData&) {  // CsvCollector reports it again with its line number
    at_fault = true;
  }
}

// A record has at least two bytes per column, except perhaps the last. The stride avoids multiples of the
// page size, because columns would then compete for the same cache lines.
void CsvRows::make_room(const CsvLayout& layout, const CsvView& text) {
  const auto bytes = static_cast<std::size_t>(text.end() - text.begin());
  constexpr std::size_t kPage = 512, kLine = 8;
  stride_ = (bytes / (2 * layout.shape.columns()) + 2 + kPage) / kPage * kPage + kLine;
  if (stride_ * layout.slots <= capacity_) return;
  capacity_ = stride_ * layout.slots;
  values_ = std::make_unique_for_overwrite<double[]>(capacity_);
}

void CsvRows::parse_records(const CsvLayout& layout, const CsvView& text) {
  RecordParser parser(layout, text, &groups);
  double* const values = values_.get();
  const std::string& comment = layout.options.comment;
  const char comment_sign = comment.empty() ? '\0' : comment[0];
  const char* p = text.begin();
  for (;;) {
    if (const std::size_t rows = parser.read_plain(p, values + count, stride_); rows > 0) {
      line_of.add(count, lines);
      count += rows;
      lines += rows;
      used = static_cast<std::size_t>(p - text.begin());
    }
    // A record begins with any character that is not a blank, a line ending, the end mark or the first
    // character of a comment.
    if (static_cast<unsigned char>(*p) <= ' ' || *p == comment_sign) {
      std::size_t passed = 0;
      const Next next = skip_to_record(text, p, comment, passed);
      lines += passed;
      used = static_cast<std::size_t>(p - text.begin());
      if (next != Next::record) return;
    }
    const char* const record = p;
    std::size_t ended = 0;
    const RecordParser::Outcome outcome = parser.read(p, ended, values + count, stride_);
    if (outcome == RecordParser::Outcome::need_more) return;
    text.check_length(record, p);
    if (parser.underflows() != 0) {
      if (underflows == 0) first_underflow = parser.underflow(), first_underflow_line = lines;
      underflows += parser.underflows();
    }
    if (outcome == RecordParser::Outcome::dropped) {
      dropped_before.push_back(count);
    } else {
      if (parser.late_fault()) {
        CsvView of_record = text;
        of_record.first = record;
        of_record.first_line = lines;
        const CsvView::Place place = of_record.place(parser.late_fault()->at);
        late_faults.push_back({count, place.line, place.column, parser.late_fault()->message});
      }
      for (const std::size_t slot : parser.percents()) rows_of(percents, slot).add(count);
      line_of.add(count++, lines);
    }
    lines += ended;
    used = static_cast<std::size_t>(p - text.begin());
  }
}

}  // namespace nlsq::cli
