// Implements CsvCollector: joins the rows of blocks, reads incomplete records again, and reports faults.
#include "table/csv/csv_collector.hpp"

#include "progress.hpp"

#include <fmt/format.h>

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace nlsq::cli {

namespace {

// A message quotes at most this many characters after a fault.
constexpr std::size_t kQuoted = 256;

// Requests large pages. A page fault for every 4 KiB would cost a fifth of the time of a short number. If the
// request is refused, nothing changes. The last page is left out, so that no memory is used without rows.
void prefer_large_pages(void* data, std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr std::size_t kLarge = std::size_t{2} << 20;
  const auto begin = (reinterpret_cast<std::uintptr_t>(data) + kLarge - 1) / kLarge * kLarge;
  const auto end = (reinterpret_cast<std::uintptr_t>(data) + bytes) / kLarge * kLarge;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#else
  (void)data, (void)bytes;
#endif
}

}  // namespace

CsvCollector::CsvCollector(const CsvLayout& layout, const OpenedSource& source, std::size_t line)
    : layout_(layout), source_(source), line_(line), first_line_(line) {
  out_.values.resize(layout.slots);
}

CsvView CsvCollector::view(const TextBuffer& text, BlockEnd end, std::size_t line) const {
  CsvView view;
  view.first = text.data();
  view.last = text.data() + text.size();
  view.complete = end == BlockEnd::input;
  view.line_feed_may_follow =
      end == BlockEnd::too_long || end == BlockEnd::fault || end == BlockEnd::bad_byte;
  view.first_line = line;
  view.max_line = layout_.options.max_line;
  view.name = source_.name;
  return view;
}

CsvView CsvCollector::view(const Block& block) const { return view(block.text, block.end, 1); }

void CsvCollector::accept(const Block& block, const CsvRows& rows) {
  if (open_.size() == 0) {
    take(rows);
    const std::size_t rest = block.text.size() - rows.used;
    if (rest == 0 && block.end == BlockEnd::cut) return;
    open_.append(block.text.data() + rows.used, rest);
    open_.mark_end();
    enough_ = 2 * rest;
    if (must_tell(block, rows.at_fault)) tell(block);
    return;
  }
  open_.append(block.text.data(), block.text.size());
  open_.mark_end();
  if (open_.size() >= enough_ || block.end != BlockEnd::cut) read_open_text(block);
}

void CsvCollector::take(const CsvRows& rows) {
  progress_rows(rows.count);
  for (std::size_t k = 0; k < out_.values.size(); ++k) {
    if (k == layout_.group_slot) {
      take_groups(rows, k);
      continue;
    }
    const double* const from = rows.column(k);
    out_.values[k].insert(out_.values[k].end(), from, from + rows.count);
  }
  if (rows.underflows > 0 && out_.underflows == 0) {
    out_.first_underflow =
        fmt::format("'{}' in line {}", rows.first_underflow, line_ + rows.first_underflow_line);
  }
  for (const CsvRows::RowFault& fault : rows.late_faults) {
    out_.late_faults.emplace_back(
        out_.rows + fault.row,
        fmt::format("{}:{}:{}: {}", source_.name, line_ + fault.line, fault.column, fault.message));
  }
  for (const auto& [column, of_column] : rows.percents)
    rows_of(out_.percents, column).append(of_column, out_.rows);
  out_.underflows += rows.underflows;
  out_.dropped_missing += rows.dropped_before.size();
  for (const std::size_t row : rows.dropped_before) out_.dropped_before.push_back(out_.rows + row);
  out_.lines.append(rows.line_of, out_.rows, line_);
  out_.rows += rows.count;
  line_ += rows.lines;
}

// Numbers the groups of these rows as in the whole table. Texts of rows that were left out get no number.
void CsvCollector::take_groups(const CsvRows& rows, std::size_t slot) {
  std::vector<double> number(rows.groups.size(), -1);
  const double* const from = rows.column(slot);
  RowVector<double>& to = out_.values[slot];
  for (std::size_t i = 0, next; i < rows.count; i = next) {  // rows of one group mostly follow each other
    next = i + 1;
    while (next < rows.count && from[next] == from[i]) ++next;
    double here = from[i];
    if (!std::isnan(here)) {  // missing ones are judged later
      double& known = number[static_cast<std::size_t>(here)];
      if (known < 0)
        known = static_cast<double>(groups_.add(rows.groups.text(static_cast<std::size_t>(here))));
      here = known;
    }
    to.insert(to.end(), next - i, here);
  }
}

void CsvCollector::read_open_text(const Block& block) {
  again_.parse(layout_, view(open_, block.end, line_));
  take(again_);
  open_.erase_front(again_.used);
  open_.mark_end();
  if (again_.used > 0) fault_size_ = 0;
  enough_ = 2 * open_.size();  // avoids reading a very long record again for every block
  if (must_tell(block, again_.at_fault)) tell(block);
}

// Returns true if more text cannot change the message about the record at the start of open_.
bool CsvCollector::must_tell(const Block& block, bool at_fault) {
  if (block.end == BlockEnd::input) return at_fault;
  if (block.end != BlockEnd::cut || open_.size() > layout_.options.max_line) return true;
  if (!at_fault) return false;
  if (fault_size_ == 0) fault_size_ = open_.size();
  enough_ = 0;
  return open_.size() >= fault_size_ + kQuoted;
}

// Reads the record at the start of open_ again, up to the longest line, and throws the error that it finds.
void CsvCollector::tell(const Block& block) {
  BlockEnd end = block.end;
  if (open_.size() > layout_.options.max_line) {
    open_.shorten(layout_.options.max_line + 1);
    open_.mark_end();
    end = BlockEnd::too_long;
  }
  const CsvView text = view(open_, end, line_);
  const char* p = text.begin();
  RecordParser parser(layout_, text);
  std::size_t lines = 0;
  if (skip_to_record(text, p, layout_.options.comment, lines) == Next::record) {
    std::vector<double> row(layout_.slots);
    const char* const record = p;
    parser.read(p, lines, row.data(), 1);
    text.check_length(record, p);
  }
  if (end == BlockEnd::bad_byte) text.fail_invalid_byte(block.bad, source_.encoding.starts_with("UTF-16"));
  if (end == BlockEnd::fault) text.fail(text.end(), block.fault);
  if (parser.open_quote() != nullptr) text.fail_open_quote(parser.open_quote());
  text.fail_length(p);
}

void CsvCollector::reserve(std::size_t rows) {
  for (RowVector<double>& column : out_.values) {
    column.reserve(rows);
    prefer_large_pages(column.data(), rows * sizeof(double));
  }
}

void CsvCollector::finish() {
  out_.groups = groups_.take();
  out_.lines_read = line_ - first_line_;
  if (out_.rows > 0 || !layout_.options.parts.empty()) return;
  const TextBuffer nothing;
  const CsvView text = view(nothing, BlockEnd::input, line_);
  text.fail(text.end(),
            out_.dropped_missing > 0
                ? fmt::format("no data left: all {} rows have missing values", out_.dropped_missing)
                : "there is a header, but no data below it");
}

}  // namespace nlsq::cli
