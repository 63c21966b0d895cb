// Implements read_run_with_group(), and how RecordParser reads plain records.
#include "table/csv/group_run.hpp"

#include "table/numbers/number.hpp"

#include <cstdint>
#include <cstring>

namespace nlsq::cli {

std::optional<GroupColumn> only_group_column(const CsvLayout& layout) {
  if (layout.specials.size() != 1) return {};
  const SpecialColumn& special = layout.specials.front();
  if (special.group_slot < 0 || special.slot >= 0 || !special.texts.empty()) return {};
  return GroupColumn{special.column, static_cast<std::size_t>(special.group_slot)};
}

static std::uint64_t eight_bytes(const char* p) {
  std::uint64_t word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

// Returns whether the text at `p` begins with `last`. It compares eight bytes at a time, because most names
// are short, and because most rows belong to the group of the row before. Eight bytes behind both texts must
// be readable.
static bool repeats(const char* p, std::string_view last) {
  const char* known = last.data();
  std::size_t left = last.size();
  for (; left >= 8; left -= 8, p += 8, known += 8)
    if (eight_bytes(p) != eight_bytes(known)) return false;
  return left == 0 || (eight_bytes(p) ^ eight_bytes(known)) << (64 - 8 * left) == 0;
}

// Reads a group that differs from the one before. Returns false if the caller has to read it.
static bool read_group(const char* p, char delimiter, char end, GroupColumn& group, TextIndex& groups) {
  const char* q = p;
  while (*q != delimiter && static_cast<unsigned char>(*q) > ' ' && *q != '"') ++q;
  const std::string_view text(p, static_cast<std::size_t>(q - p));
  if (*q != end || text.empty()) return false;
  std::size_t number = groups.find(text);
  if (number == TextIndex::npos) {
    if (end != delimiter || is_missing_text(text)) return false;
    number = groups.add(text);
  }
  group.last = {p, text.size() + 1};
  group.number = static_cast<double>(number);
  return true;
}

std::size_t read_run_with_group(ReadNumberRun read_run, const char*& p, const NumberRun& run,
                                GroupColumn& group, TextIndex& groups) {
  const std::size_t before = group.column == 0 ? 0 : read_run(p, run, 0);
  if (before != group.column) return before;
  const char end = before + 1 == run.columns ? '\n' : run.delimiter;
  const bool again = !group.last.empty() && repeats(p, group.last);
  if (!again && !read_group(p, run.delimiter, end, group, groups)) return before;
  run.out[group.slot * run.stride] = group.number;
  p += group.last.size();
  return read_run(p, run, before + 1);
}

std::size_t RecordParser::read_fields(const char*& p, double* out, std::size_t stride) {
  if (read_run_ == nullptr) return 0;
  run_.out = out;
  run_.stride = stride;
  return group_ ? read_run_with_group(read_run_, p, run_, *group_, *groups_) : read_run_(p, run_, 0);
}

std::size_t RecordParser::read_plain(const char*& p, double* out, std::size_t stride) {
  std::size_t rows = 0;
  if (!plain_) return rows;  // a table may have no plain records, and none is read twice
  const char* q = p;
  const std::string& comment = layout_.options.comment;
  while (static_cast<unsigned char>(*q) > ' ' && (comment.empty() || *q != comment[0]) &&
         read_fields(q, out + rows, stride) == run_.columns && text_.is_short(p, q)) {
    p = q;
    ++rows;
  }
  plain_ = false;
  return rows;
}

}  // namespace nlsq::cli
