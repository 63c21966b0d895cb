// Implements the reading of data in parts.
#include "processes/shared_data.hpp"

#include "errors.hpp"
#include "processes/file_parts.hpp"
#include "processes/processes.hpp"
#include "table/csv/text_index.hpp"
#include "table/scratch/large_mappings.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace nlsq::cli {

namespace {

InputData read_here(const std::vector<std::string>& files, const CsvOptions& csv, const Selection& selection,
                    bool with_checksums) {
  InputData out;
  out.inputs = open_inputs(files, csv, with_checksums && first_process());
  out.data = select_data(*out.inputs.table, selection);
  return out;
}

// Returns true if the selection needs knowledge of the whole table: the row numbers $0, which count from the
// first row of the table, which of several responses are missing, or the names of groups in other files.
bool needs_whole_table(const Selection& selection, std::size_t files) {
  const auto has_row_number = [](const std::string& text) { return text.find("$0") != std::string::npos; };
  const bool groups = may_have_groups(selection) && (selection.group_by.empty() || files > 1);
  return groups || has_row_number(selection.x) || has_row_number(selection.y) ||
         has_row_number(selection.sigma) || has_row_number(selection.sigma_x) ||
         std::ranges::any_of(selection.where, has_row_number);
}

// Holds the counts of a process for one file.
struct FileCount {
  std::size_t rows = 0, dropped_missing = 0, lines = 0;
};
struct Counts {
  std::size_t rows = 0, excluded_where = 0, excluded_range = 0;  // rows: of the fit
};

// Holds the counts of every process, and those of its files.
struct AllCounts {
  std::vector<Counts> of_process;
  std::vector<std::vector<FileCount>> of_files;  // by process
};

std::vector<TableColumns*> files_of(FitData& data) {
  std::vector<TableColumns*> out;
  for (TableColumns& file : data.read.files) out.push_back(&file);
  if (out.empty()) out.push_back(&data.read);
  return out;
}

AllCounts gather_counts(FitData& data) {
  const Counts mine{data.rows(), data.excluded_where, data.excluded_range};
  std::string bytes(reinterpret_cast<const char*>(&mine), sizeof mine);
  for (const TableColumns* file : files_of(data)) {
    const FileCount count{file->rows, file->dropped_missing, file->lines_read};
    bytes.append(reinterpret_cast<const char*>(&count), sizeof count);
  }
  AllCounts out;
  for (const std::string& text : processes()->team()->gather(bytes)) {
    Counts& counts = out.of_process.emplace_back();
    std::memcpy(&counts, text.data(), sizeof counts);
    auto& files = out.of_files.emplace_back((text.size() - sizeof counts) / sizeof(FileCount));
    std::memcpy(files.data(), text.data() + sizeof counts, files.size() * sizeof(FileCount));
  }
  return out;
}

// Returns the place of a row of the fit in the files. Only the process that read the row knows it, so all
// processes must ask at the same time.
std::function<std::string(std::size_t)> places_of(FitData& data, const AllCounts& all) {
  const auto rank = static_cast<std::size_t>(processes()->team()->rank());
  const std::vector<TableColumns*> files = files_of(data);
  std::size_t before = 0;
  for (std::size_t k = 0; k < rank; ++k) {
    before += all.of_process[k].rows;
    for (std::size_t f = 0; f < files.size(); ++f) {
      files[f]->lines.shift(all.of_files[k][f].lines);
      files[f]->rows_before += all.of_files[k][f].rows + all.of_files[k][f].dropped_missing;
    }
  }
  const auto own = std::make_shared<FitData>();
  own->read = std::move(data.read);
  own->kept = std::move(data.kept);
  const std::size_t end = before + data.rows();
  return [own, before, end](std::size_t row) {
    const bool here = row >= before && row < end;
    std::string found;
    for (const std::string& text : processes()->team()->gather(here ? own->place(row - before) : ""))
      found += text;
    return found;
  };
}

// Numbers the groups as a reader of the whole table does: their texts in the order of their first rows.
void number_groups(FitData& data) {
  std::string mine;  // no text has a NUL in it
  for (const std::string& text : data.group_texts) mine += text + '\0';
  TextIndex all;
  std::vector<double> numbers;  // of the texts of this process
  const std::vector<std::string> texts = processes()->team()->gather(mine);
  for (std::size_t k = 0; k < texts.size(); ++k) {
    for (std::size_t at = 0; at < texts[k].size();) {
      const std::string_view text(texts[k].c_str() + at);
      const auto number = static_cast<double>(all.add(text));
      if (k == static_cast<std::size_t>(processes()->team()->rank())) numbers.push_back(number);
      at += text.size() + 1;
    }
  }
  data.group_texts = all.take();
  bool same = true;  // as in the first process, whose texts come first
  for (std::size_t k = 0; k < numbers.size(); ++k) same = same && numbers[k] == static_cast<double>(k);
  if (same) return;
  const auto group = std::make_shared<RowVector<double>>(data.group.size());
  data.group.read(0, group->size(), group->data());
  for (double& number : *group) number = numbers[static_cast<std::size_t>(number)];
  data.group = Column(*group);
  data.memory.push_back(group);
}

// Copies a column of the rows of all processes to this one.
void copy_rows(FitData& data, Column& column) {
  const auto copy = std::make_shared<RowVector<double>>(column.size());
  column.read(0, copy->size(), copy->data());
  column = Column(*copy);
  data.memory.push_back(copy);
  processes()->team()->gather("");  // until all processes have copied, others may read from here
}

// Replaces the rows of this process by those of all.
void share_rows(InputData& input) {
  FitData& data = input.data;
  const AllCounts all = gather_counts(data);
  const std::vector<TableColumns*> files = files_of(data);
  std::vector<std::pair<std::size_t, std::size_t>> totals(files.size());  // rows, dropped_missing
  std::vector<std::string> names;
  for (const TableColumns* file : files) names.push_back(file->name);
  const bool several = !data.read.files.empty();
  std::string table_name = data.read.name;
  data.place_in_all = places_of(data, all);
  data.read = {};
  data.read.name = table_name;
  data.excluded_where = data.excluded_range = 0;
  for (std::size_t k = 0; k < all.of_process.size(); ++k) {
    data.excluded_where += all.of_process[k].excluded_where;
    data.excluded_range += all.of_process[k].excluded_range;
    for (std::size_t f = 0; f < totals.size(); ++f) {
      totals[f].first += all.of_files[k][f].rows;
      totals[f].second += all.of_files[k][f].dropped_missing;
    }
  }
  for (std::size_t f = 0; f < totals.size(); ++f) {
    data.read.rows += totals[f].first;
    data.read.dropped_missing += totals[f].second;
    if (!several) break;
    TableColumns& file = data.read.files.emplace_back();
    file.name = names[f];
    file.rows = totals[f].first;
    file.dropped_missing = totals[f].second;
  }
  data.dropped_missing = data.read.dropped_missing;
  data.rows_in_file = data.read.rows_in_file();
  data.description = input.inputs.table->describe(data.read);

  if (data.group_expression) number_groups(data);
  std::vector<Column*> chosen = {&data.y};
  for (Column& column : data.predictors) chosen.push_back(&column);
  if (data.sigma_expression) chosen.push_back(&data.sigma);
  for (std::size_t k = 0; k < data.sigma_x.size(); ++k)
    if (data.sigma_x_expressions[k]) chosen.push_back(&data.sigma_x[k]);
  if (data.group_expression) chosen.push_back(&data.group);
  std::vector<Column> columns;
  for (const Column* column : chosen) columns.push_back(*column);
  const Processes::SharedColumns shared =
      processes()->share(std::move(columns), std::exchange(data.memory, {}));
  for (std::size_t k = 0; k < chosen.size(); ++k) *chosen[k] = shared.columns[k];
  data.team = told_of_interrupts(shared.team);
  // Every process sorts the rows by groups. It copies the rows of the other columns only for the groups that
  // it fits.
  if (data.group_expression) copy_rows(data, data.group);
}

// Passes on hints of the solver about how the rows of large files are read.
void hint_columns(FitData& data) {
  std::vector<Column*> all = {&data.y};
  for (Column& column : data.predictors) all.push_back(&column);
  if (!data.sigma.empty()) all.push_back(&data.sigma);
  for (Column& column : data.sigma_x)
    if (!column.empty()) all.push_back(&column);
  std::vector<Column> columns;
  for (const Column* column : all) columns.push_back(*column);
  columns = hinted_columns(columns, data.memory.emplace_back());
  for (std::size_t k = 0; k < all.size(); ++k) *all[k] = columns[k];
}

// Reads this process's part, if that can be done in all of them.
std::optional<InputData> read_part(const std::vector<std::string>& files, CsvOptions csv,
                                   const Selection& selection, bool with_checksums) {
  if (needs_whole_table(selection, files.size())) return std::nullopt;
  std::optional<std::vector<FilePart>> parts = own_parts(files);
  StepEnd end = StepEnd::failed;
  std::optional<InputData> out;
  if (parts) {
    csv.parts = std::move(*parts);
    try {
      out = read_here(files, csv, selection, with_checksums);
      if (out->data.underflows == 0 && out->data.warnings.empty()) end = StepEnd::done;
    } catch (const Interrupted&) {
      end = StepEnd::interrupted;
    } catch (const std::exception&) {
      out.reset();  // the message needs the line, which only a reader of the whole file knows
    }
  }
  const std::vector<StepEnd> ends = ends_of_all(end);
  if (std::ranges::find(ends, StepEnd::interrupted) != ends.end()) throw Interrupted();
  if (std::ranges::find(ends, StepEnd::failed) != ends.end()) return std::nullopt;
  return out;
}

}  // namespace

InputData read_data(const std::vector<std::string>& files, const CsvOptions& csv, const Selection& selection,
                    bool with_checksums) {
  if (processes() == nullptr) {
    InputData out = read_here(files, csv, selection, with_checksums);
    if (has_large_mappings()) hint_columns(out.data);
    return out;
  }
  if (std::ranges::find(files, "-") != files.end())
    throw UsageError("several processes cannot share standard input; name files");
  check_same_files(files);
  if (std::optional<InputData> part = read_part(files, csv, selection, with_checksums)) {
    share_rows(*part);
    return std::move(*part);
  }
  InputData out = read_here(files, csv, selection, with_checksums);
  out.data.team = told_of_interrupts(processes()->team());
  return out;
}

void check_after_failure(const std::vector<std::string>& files, const CsvOptions& csv, Selection selection,
                         const FitData& data) {
  if (!data.unchecked) return;
  if (processes() == nullptr) return check_finite(data);
  selection.check_later = false;
  read_data(files, csv, selection, false);  // each process knows the places of its own rows only
}

}  // namespace nlsq::cli
