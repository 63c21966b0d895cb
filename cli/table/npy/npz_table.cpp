// Implements tables of .npz archives.
#include "table/npy/npz_table.hpp"

#include "errors.hpp"
#include "table/npy/npy_header.hpp"
#include "table/npy/npy_table.hpp"
#include "table/npy/zip_archive.hpp"
#include "table/source/mapped_file.hpp"
#include "table/source/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace nlsq::cli {

namespace {

// Holds an array of the archive and its columns.
struct Member {
  ZipMember zip;
  std::string name;  // without ".npy"
  NpyHeader header;
  std::size_t first = 0;  // number of its first column in the table
};

class NpzTable final : public Table {
 public:
  NpzTable(OpenedSource source, MissingPolicy missing) : source_(std::move(source)), missing_(missing) {
    try {
      load();
      find_arrays();
    } catch (const BadData& e) {
      throw BadData(source_.name + ": " + e.what());
    }
  }

  const CsvShape& shape() const override { return shape_; }
  const std::string& name() const override { return source_.name; }
  const std::string& origin() const override { return source_.name; }

  std::string describe(const TableColumns& read) const override {
    const std::size_t rows = read.rows_in_file();
    std::string text =
        fmt::format("{} row{}, {} column{}, .npz of {} array{}", rows, rows == 1 ? "" : "s", shape_.columns(),
                    shape_.columns() == 1 ? "" : "s", members_.size(), members_.size() == 1 ? "" : "s");
    for (std::size_t k = 0; k < shape_.unusable.size(); ++k)
      text += (k == 0 ? ", without " : ", ") + printable(shape_.unusable[k].first);
    return text;
  }

  TableColumns read(std::span<const std::size_t> numbers, std::span<const TextMatch> texts,
                    std::optional<std::size_t> group) override {
    if (!texts.empty()) {
      throw BadData(source_.name +
                    ": these arrays hold numbers; a comparison with a text needs a text column");
    }
    const std::vector<std::size_t> columns = with_group(numbers, group);
    TableColumns out;
    out.name = source_.name;
    const Member* reference = nullptr;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const Member& member = owner(columns[i]);
      if (reference != nullptr && member.header.rows != reference->header.rows) {
        throw BadData(fmt::format("{}: array {} has {} rows, {} has {}; choose arrays of one length",
                                  source_.name, printable(reference->name), reference->header.rows,
                                  printable(member.name), member.header.rows));
      }
      reference = &member;
      add_column(member, columns[i] - member.first, i == numbers.size(), out);
    }
    out.rows = reference == nullptr ? members_.front().header.rows : reference->header.rows;
    out.finite = false;
    if (missing_ == MissingPolicy::drop) drop_rows(columns, out);
    return out;
  }

  bool keep_missing(std::vector<std::size_t> columns) override {
    keeps_missing_ = std::move(columns);
    return missing_ == MissingPolicy::drop;
  }

 private:
  // Maps a file, and reads a pipe to its end.
  void load() {
    const int file = source_.bytes->file();
    if (file >= 0 && source_.size_hint > 0) {
      mapped_ = std::make_unique<MappedFile>(file, source_.size_hint);
      if (mapped_->size() > 0) {
        archive_ = {reinterpret_cast<const char*>(mapped_->data()), mapped_->size()};
        return;
      }
    }
    constexpr std::size_t kStep = std::size_t{1} << 20;
    for (std::size_t have = 0, got = 1; got != 0; have += got) {
      bytes_.resize(have + kStep);
      got = source_.bytes->read(bytes_.data() + have, kStep);
      bytes_.resize(have + got);
    }
    archive_ = bytes_;
  }

  void find_arrays() {
    constexpr std::string_view kSuffix = ".npy";
    bool any = false;
    for (ZipMember& zip : zip_members(archive_)) {
      if (!zip.name.ends_with(kSuffix)) continue;
      any = true;
      Member member{std::move(zip), "", {}, shape_.columns()};
      member.name = member.zip.name.substr(0, member.zip.name.size() - kSuffix.size());
      try {
        std::size_t start = 0;
        member.header = read_npy_header(*open_member(archive_, member.zip), start);
      } catch (const BadData& e) {
        shape_.unusable.emplace_back(member.name, e.what());
        continue;
      }
      const std::size_t columns = member.header.columns;
      for (std::size_t k = 1; k <= columns; ++k)
        shape_.names.push_back(columns == 1 ? member.name : fmt::format("{}_{}", member.name, k));
      members_.push_back(std::move(member));
    }
    if (!any) {
      throw BadData(
          "this is a zip archive without NumPy arrays (perhaps a spreadsheet): extract it, or save it as "
          "CSV, "
          "first");
    }
    if (members_.empty()) {
      const auto& [name, why] = shape_.unusable.back();
      throw BadData(fmt::format("array {} cannot be fitted: {}", printable(name), why));
    }
    shape_.has_header = true;
  }

  const Member& owner(std::size_t column) const {
    const auto after = std::upper_bound(members_.begin(), members_.end(), column,
                                        [](std::size_t c, const Member& m) { return c < m.first; });
    return *(after - 1);
  }

  void add_column(const Member& member, std::size_t column, bool is_group, TableColumns& out) const {
    OpenedSource source;
    source.name = fmt::format("{}: {}", source_.name, printable(member.zip.name));
    source.bytes = open_member(archive_, member.zip);
    const std::size_t numbers[] = {column};
    const auto array = make_npy_table(std::move(source), CsvOptions{});
    TableColumns one = is_group ? array->read({}, {}, column) : array->read(numbers);
    out.columns.push_back(one.columns.front());
    for (auto& memory : one.memory) out.memory.push_back(std::move(memory));
  }

  // Leaves out the rows with NaN in one of the columns, which have these numbers.
  void drop_rows(const std::vector<std::size_t>& numbers, TableColumns& out) const {
    std::vector<Column> needed;
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      if (std::ranges::find(keeps_missing_, numbers[k]) == keeps_missing_.end())
        needed.push_back(out.columns[k]);
    }
    for (std::size_t i = 0; i < out.rows; ++i) {
      const bool missing = std::ranges::any_of(needed, [&](const Column& c) { return std::isnan(c[i]); });
      if (!missing) out.kept.push_back(i);
    }
    out.dropped_missing = out.rows - out.kept.size();
    if (out.kept.empty()) {
      throw BadData(fmt::format("{}: no data left: all {} rows have missing values", source_.name, out.rows));
    }
    if (out.dropped_missing == 0) return out.kept.clear();
    out.rows = out.kept.size();
    for (Column& column : out.columns) {
      auto values = std::make_shared<RowVector<double>>();
      for (const std::size_t row : out.kept) values->push_back(column[row]);
      column = Column(*values);
      out.memory.push_back(std::move(values));
    }
  }

  OpenedSource source_;
  MissingPolicy missing_;
  std::vector<std::size_t> keeps_missing_;  // columns whose NaN drop no row
  std::unique_ptr<MappedFile> mapped_;
  std::string bytes_;
  std::string_view archive_;
  CsvShape shape_;
  std::vector<Member> members_;
};

}  // namespace

std::unique_ptr<Table> make_npz_table(OpenedSource source, MissingPolicy missing) {
  return std::make_unique<NpzTable>(std::move(source), missing);
}

}  // namespace nlsq::cli
