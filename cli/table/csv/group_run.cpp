// Implements read_run_with_group().
#include "table/csv/group_run.hpp"

namespace nlsq::cli {

std::optional<GroupColumn> only_group_column(const CsvLayout& layout) {
  if (layout.specials.size() != 1) return {};
  const SpecialColumn& special = layout.specials.front();
  if (special.group_slot < 0 || special.slot >= 0 || !special.texts.empty()) return {};
  return GroupColumn{special.column, static_cast<std::size_t>(special.group_slot)};
}

std::size_t read_run_with_group(ReadNumberRun read_run, const char*& p, const NumberRun& run,
                                const GroupColumn& group, TextIndex& groups) {
  const std::size_t before = group.column == 0 ? 0 : read_run(p, run);
  if (before != group.column) return before;
  const char end = before + 1 == run.columns ? '\n' : run.delimiter;
  const char* q = p;
  while (*q != run.delimiter && static_cast<unsigned char>(*q) > ' ' && *q != '"') ++q;
  if (*q != end) return before;
  const std::size_t number = groups.find({p, static_cast<std::size_t>(q - p)});
  if (number == TextIndex::npos) return before;
  run.out[group.slot * run.stride] = static_cast<double>(number);
  p = q + 1;
  const std::size_t read = before + 1;
  if (read == run.columns) return read;
  NumberRun behind = run;
  behind.slot_of += read;
  behind.columns -= read;
  return read + read_run(p, behind);
}

}  // namespace nlsq::cli
