// Implements open_table(): the reader of text, .npy or .npz for a source.
#include "table/table.hpp"

#include "errors.hpp"
#include "table/csv/csv_reader.hpp"
#include "table/npy/npy_table.hpp"
#include "table/npy/npz_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace nlsq::cli {

namespace {

class CsvTable final : public Table {
 public:
  CsvTable(OpenedSource source, const CsvOptions& options)
      : reader_(std::move(source), options), missing_(options.missing) {}
  const CsvShape& shape() const override { return reader_.shape(); }
  const std::string& name() const override { return reader_.source().name; }
  const std::string& origin() const override { return reader_.origin(); }
  bool has_text() const override { return true; }

  std::string describe(const TableColumns& read) const override {
    const std::size_t rows = read.rows_in_file(), columns = shape().columns();
    std::string text = fmt::format(
        "{} row{}, {} column{}, {}, {}", rows, rows == 1 ? "" : "s", columns, columns == 1 ? "" : "s",
        columns == 1 ? "no delimiter" : "delimiter " + delimiter_name(shape().delimiter),
        shape().has_header ? "header" : "no header");
    for (const std::string& note : shape().notes) text += ", " + note;
    if (reader_.source().encoding != "UTF-8") text += ", " + reader_.source().encoding;
    if (reader_.source().gzip) text += ", gzip";
    return text;
  }

  TableColumns read(std::span<const std::size_t> columns, std::span<const TextMatch> texts,
                    std::optional<std::size_t> group) override {
    CsvColumns read = reader_.read(columns, texts, group);
    TableColumns out;
    for (RowVector<double>& values : read.values) out.own(std::move(values));
    out.rows = read.rows;
    out.dropped_missing = read.dropped_missing;
    out.underflows = read.underflows;
    out.first_underflow = std::move(read.first_underflow);
    out.lines = std::move(read.lines);
    out.lines_read = read.lines_read;
    out.dropped_before = std::move(read.dropped_before);
    out.groups = std::move(read.groups);
    out.late_faults = std::move(read.late_faults);
    out.percents = std::move(read.percents);
    out.name = name();
    out.finite = !keeps_missing_;
    return out;
  }

  bool take_times(std::vector<std::optional<TimeOrigin>> times) override {
    reader_.take_times(std::move(times));
    return true;
  }

  void judge_later(std::vector<std::size_t> columns, std::vector<std::size_t> in_conditions) override {
    reader_.judge_later(std::move(columns), std::move(in_conditions));
  }

  bool keep_missing(std::vector<std::size_t> columns) override {
    if (missing_ != MissingPolicy::drop) return false;
    keeps_missing_ = !columns.empty();
    reader_.keep_missing(std::move(columns));
    return true;
  }

 private:
  CsvReader reader_;
  MissingPolicy missing_;
  bool keeps_missing_ = false;
};

}  // namespace

double TableColumns::row_number(std::size_t i) const {
  std::size_t before_file = 0;
  for (const TableColumns& file : files) {
    if (i < file.rows) return static_cast<double>(before_file) + file.row_number(i);
    i -= file.rows;
    before_file += file.rows_in_file();
  }
  const std::size_t first = rows_before + 1;
  if (!kept.empty()) return static_cast<double>(first + kept[i]);
  const auto before = std::upper_bound(dropped_before.begin(), dropped_before.end(), i);
  return static_cast<double>(first + i) + static_cast<double>(before - dropped_before.begin());
}

std::string TableColumns::place(std::size_t i) const {
  for (const TableColumns& file : files) {
    if (i < file.rows) return file.place(i);
    i -= file.rows;
  }
  const std::size_t line = lines.line(i);
  return line == 0 ? fmt::format("{}, row {}", name, row_number(i)) : fmt::format("{}:{}", name, line);
}

std::vector<std::size_t> with_group(std::span<const std::size_t> columns, std::optional<std::size_t> group) {
  std::vector<std::size_t> all(columns.begin(), columns.end());
  if (group) all.push_back(*group);
  return all;
}

std::string option_of_text(const CsvOptions& csv) {
  const CsvOptions usual;
  const std::pair<const char*, bool> options[] = {
      {"--delimiter", csv.delimiter.has_value()},
      {"--thousands", csv.number.thousands != usual.number.thousands},
      {"--decimal", csv.number.decimal != usual.number.decimal},
      {"--header", csv.header != usual.header},
      {"--comment", csv.comment != usual.comment},
      {"--skip", csv.skip != usual.skip},
      {"--max-line", csv.max_line != usual.max_line}};
  const auto given = std::ranges::find_if(options, [](const auto& option) { return option.second; });
  return given == std::end(options) ? "" : given->first;
}

void refuse_options_of_text(const CsvOptions& csv, const std::string& name) {
  if (const std::string option = option_of_text(csv); !option.empty())
    throw UsageError(fmt::format("{} is of texts, and {} is no text: leave it out", option, name));
}

std::unique_ptr<Table> open_table(OpenedSource source, const CsvOptions& options) {
  if (source.npz && !options.parts.empty()) throw BadData(source.name + ": cannot be read in parts");
  if (options.skip > 0 && (source.npz || source.npy)) {
    throw UsageError(fmt::format("--skip {0}: {1} has no lines; leave rows out by --where '$0>{0}'",
                                 options.skip, source.name));
  }
  if (source.npz) return make_npz_table(std::move(source), options.missing);
  if (source.npy) return make_npy_table(std::move(source), options);
  return std::make_unique<CsvTable>(std::move(source), options);
}

}  // namespace nlsq::cli
