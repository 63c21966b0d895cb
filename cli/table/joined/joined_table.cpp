// Implements the table of several files.
#include "table/joined/joined_table.hpp"

#include "errors.hpp"
#include "table/csv/text_index.hpp"
#include "table/joined/same_columns.hpp"
#include "table/numbers/number.hpp"
#include "table/source/utf8.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace nlsq::cli {

namespace {

// Returns false for a pipe, for instance, which can be opened only once.
bool can_be_opened_again(const std::string& file) {
  struct stat info = {};
  return file != "-" && ::stat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

// Writes a number that names a group as the files of texts write it, so that 1 in an array and "1.0" in a CSV
// file are one group. If no text is that number, it is written in the shortest way.
class GroupSpelling {
 public:
  GroupSpelling(const std::vector<std::vector<std::string>>& texts, const NumberFormat& format) {
    for (std::size_t k = 0; k < texts.size(); ++k) {
      for (const std::string& text : texts[k]) {
        double value = 0;
        if (parse_number(text, format, value) != NumberStatus::ok) continue;
        Known& known = known_.try_emplace(value == 0 ? 0.0 : value, Known{text, "", k, 0}).first->second;
        if (known.text != text && known.other.empty()) {
          known.other = text;
          known.other_file = k;
        }
      }
    }
  }

  std::string of(double value, const std::string& file, const std::vector<TableColumns>& files) const {
    if (value == 0) value = 0;  // not -0
    const auto found = known_.find(value);
    if (found == known_.end()) return fmt::format("{}", value);
    const Known& known = found->second;
    if (std::fabs(value) >= 0x1p53) {  // several whole numbers are one double
      throw BadData(
          fmt::format("group {} of {} may be '{}' of {} or another: numbers from 2^53 on cannot all be "
                      "told apart; name the groups otherwise",
                      value, file, printable(known.text), files[known.file].name));
    }
    if (known.other.empty()) return known.text;
    throw BadData(
        fmt::format("group {} of {} may be '{}' of {} or '{}' of {}, which are two groups, because "
                    "groups in text files are texts; write them alike",
                    value, file, printable(known.text), files[known.file].name, printable(known.other),
                    files[known.other_file].name));
  }

 private:
  struct Known {
    std::string text, other;  // other: a second way in which the number is written
    std::size_t file, other_file;
  };
  std::map<double, Known> known_;
};

// Numbers the groups of all files alike. `texts` has the texts of each file; a file of numbers has none.
// Without any texts the numbers are the groups themselves.
std::vector<std::string> join_groups(const std::vector<TableColumns>& files,
                                     const std::vector<std::vector<std::string>>& texts,
                                     const NumberFormat& format, RowVector<double>& values) {
  if (std::ranges::all_of(texts, [](const auto& of_file) { return of_file.empty(); })) return {};
  const GroupSpelling spelling(texts, format);
  TextIndex index;
  std::size_t at = 0;
  for (std::size_t k = 0; k < files.size(); ++k) {
    for (const std::size_t end = at + files[k].rows; at < end; ++at) {
      double& value = values[at];
      if (std::isnan(value)) continue;  // missing in a row that is judged later
      const std::string text = texts[k].empty() ? spelling.of(value, files[k].name, files)
                                                : texts[k][static_cast<std::size_t>(value)];
      value = static_cast<double>(index.add(text));
    }
  }
  return index.take();
}

// Returns "a.csv: 10, b.csv: 12 rows", or if there are many "10 to 12 rows each".
std::string rows_by_file(const std::vector<TableColumns>& files) {
  constexpr std::size_t kMost = 4;
  std::string list;
  std::size_t least = files.front().rows_in_file(), most = least;
  for (const TableColumns& file : files) {
    list += fmt::format("{}{}: {}", list.empty() ? "" : ", ", printable(file.name, 60), file.rows_in_file());
    least = std::min(least, file.rows_in_file());
    most = std::max(most, file.rows_in_file());
  }
  if (files.size() <= kMost) return list + " rows";
  return least == most ? fmt::format("{} rows each", least) : fmt::format("{} to {} rows each", least, most);
}

// This is one file of the table. `table` is null while it is not open.
struct Part {
  std::string file;
  std::unique_ptr<Table> table;
};

class JoinedTable final : public Table {
 public:
  JoinedTable(const std::vector<std::string>& files, const CsvOptions& options,
              std::shared_ptr<InputChecksums> checksums, bool with_checksums)
      : options_(options), checksums_(std::move(checksums)), with_checksums_(with_checksums) {
    for (const std::string& file : files) {
      Part& part = parts_.emplace_back(Part{file, nullptr});
      open(parts_.size() - 1);
      if (parts_.size() == 1) continue;
      same_columns(first().name(), shape(), *part.table);
      if (can_be_opened_again(file)) close(parts_.size() - 1);
    }
    name_ = fmt::format("{} and {} more", first().name(), files.size() - 1);
  }

  const CsvShape& shape() const override { return first().shape(); }
  const std::string& name() const override { return name_; }
  const std::string& origin() const override { return first().origin(); }
  bool has_text() const override { return has_text_; }

  std::string describe(const TableColumns& read) const override {
    return fmt::format("{} files ({}), {}", parts_.size(), rows_by_file(read.files), first().describe(read));
  }

  void judge_later(std::vector<std::size_t> columns, std::vector<std::size_t> in_conditions) override {
    judged_later_ = std::move(columns);
    in_conditions_ = std::move(in_conditions);
  }

  bool keep_missing(std::vector<std::size_t> columns) override {
    keeps_missing_ = std::move(columns);
    return options_.missing == MissingPolicy::drop;
  }

  TableColumns read(std::span<const std::size_t> columns, std::span<const TextMatch> texts,
                    std::optional<std::size_t> group) override {
    std::vector<RowVector<double>> values(columns.size() + texts.size() + (group ? 1 : 0));
    std::vector<std::vector<std::string>> groups;
    TableColumns out;
    out.name = name_;
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      TableColumns part = read_part(k, columns, texts, group);
      for (std::size_t c = 0; c < values.size(); ++c) {
        const std::size_t before = values[c].size();
        if (k == 0) values[c].reserve(part.rows * parts_.size());
        values[c].resize(before + part.rows);
        part.columns[c].read(0, part.rows, values[c].data() + before);
      }
      groups.push_back(std::move(part.groups));
      join(std::move(part), out);
    }
    if (group) out.groups = join_groups(out.files, groups, options_.number, values.back());
    for (RowVector<double>& column : values) out.own(std::move(column));
    return out;
  }

 private:
  const Table& first() const { return *parts_.front().table; }

  void open(std::size_t k) {
    OpenedSource source = open_source(parts_[k].file, with_checksums_);
    (*checksums_)[k] = source.checksum;
    CsvOptions options = options_;
    if (!options.parts.empty()) options.parts = {options_.parts[k]};
    parts_[k].table = open_table(std::move(source), options);
    has_text_ = has_text_ || parts_[k].table->has_text();
  }

  // The checksum goes with the file, because it holds a descriptor of it. It starts again when file k is
  // opened again.
  void close(std::size_t k) {
    parts_[k].table.reset();
    (*checksums_)[k].reset();
  }

  // Opens file k, reads it, and closes it.
  TableColumns read_part(std::size_t k, std::span<const std::size_t> columns,
                         std::span<const TextMatch> texts, std::optional<std::size_t> group) {
    if (!parts_[k].table) open(k);
    Table& table = *parts_[k].table;
    const std::vector<std::size_t> number = same_columns(first().name(), shape(), table);
    if (k > 0) share_times(table, number, columns);
    std::vector<std::size_t> its_columns;
    for (const std::size_t column : columns) its_columns.push_back(number[column]);
    std::vector<TextMatch> its_texts(texts.begin(), texts.end());
    for (TextMatch& text : its_texts) text.column = number[text.column];
    if (group) group = number[*group];
    const auto here = [&](std::vector<std::size_t> of_first) {
      for (std::size_t& column : of_first) column = number[column];
      return of_first;
    };
    table.keep_missing(here(keeps_missing_));
    table.judge_later(here(judged_later_), here(in_conditions_));
    TableColumns part = table.read(its_columns, its_texts, group);
    if (k > 0) parts_[k].table.reset();
    if ((*checksums_)[k]) (*checksums_)[k]->finish();
    return part;
  }

  // Dates of all files count from the same moment.
  void share_times(Table& table, const std::vector<std::size_t>& number,
                   std::span<const std::size_t> columns) const {
    std::vector<std::optional<TimeOrigin>> times(number.size());
    bool read_here = false;
    for (std::size_t c = 0; c < number.size(); ++c) {
      const TimeOrigin* const time = shape().time(c);
      if (time == nullptr) continue;
      times[number[c]] = *time;
      read_here = read_here || std::ranges::find(columns, c) != columns.end();
    }
    if (table.take_times(std::move(times)) || !read_here) return;
    throw BadData(fmt::format("{}: this file holds numbers, and {} has dates in the same column",
                              table.name(), first().name()));
  }

  // Adds the rows of one file to the account of all.
  static void join(TableColumns part, TableColumns& out) {
    if (part.underflows > 0 && out.underflows == 0)
      out.first_underflow = fmt::format("{} of {}", part.first_underflow, printable(part.name, 200));
    out.underflows += part.underflows;
    for (auto& [row, message] : part.late_faults)
      out.late_faults.emplace_back(out.rows + row, std::move(message));
    for (const auto& [column, rows] : part.percents) rows_of(out.percents, column).append(rows, out.rows);
    out.rows += part.rows;
    out.dropped_missing += part.dropped_missing;
    out.finite = out.finite && part.finite;
    part.columns.clear();
    part.memory.clear();
    out.files.push_back(std::move(part));
  }

  CsvOptions options_;
  std::shared_ptr<InputChecksums> checksums_;
  bool with_checksums_, has_text_ = false;
  std::vector<Part> parts_;
  std::vector<std::size_t> keeps_missing_, judged_later_, in_conditions_;  // columns of the first file
  std::string name_;
};

}  // namespace

std::unique_ptr<Table> make_joined_table(const std::vector<std::string>& files, const CsvOptions& options,
                                         std::shared_ptr<InputChecksums> checksums, bool with_checksums) {
  return std::make_unique<JoinedTable>(files, options, std::move(checksums), with_checksums);
}

}  // namespace nlsq::cli
