// Implements tables of .npy files: provides the columns of an array.
#include "table/npy/npy_table.hpp"

#include "errors.hpp"
#include "processes/file_parts.hpp"
#include "table/npy/npy_array.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace nlsq::cli {

namespace {

class NpyTable final : public Table {
 public:
  NpyTable(OpenedSource source, const CsvOptions& options)
      : source_(std::move(source)), missing_(options.missing), array_(source_, 2),
        header_(array_.header()), part_{0, header_.rows} {
    shape_.names.resize(header_.columns);
    if (!options.parts.empty()) part_ = rows_of_part(source_, options.parts.front(), header_.rows);
  }

  const CsvShape& shape() const override { return shape_; }
  const std::string& name() const override { return source_.name; }
  const std::string& origin() const override { return source_.name; }

  std::string describe(const TableColumns& read) const override {
    const std::size_t rows = read.rows_in_file();
    return fmt::format("{} row{}, {} column{}, {}", rows, rows == 1 ? "" : "s", header_.columns,
                       header_.columns == 1 ? "" : "s", array_.describe());
  }

  TableColumns read(std::span<const std::size_t> numbers, std::span<const TextMatch> texts,
                    std::optional<std::size_t> group) override {
    if (!texts.empty())
      throw BadData(source_.name +
                    ": this array holds numbers; a comparison with a text needs a text column");
    const std::vector<std::size_t> columns = with_group(numbers, group);
    TableColumns out;
    out.name = source_.name;
    out.rows = part_.end - part_.first;
    out.finite = header_.type != NpyType::f64 && header_.type != NpyType::f32;
    if (missing_ == MissingPolicy::drop && !out.finite) find_rows(columns, out);
    for (const std::size_t column : columns) {
      if (out.kept.empty() && in_place()) {
        out.columns.push_back(view(column));
      } else {
        out.own(copy(column, out.kept));
      }
    }
    out.memory.push_back(array_.memory());
    if (group) check_groups(out);
    return out;
  }

  bool keep_missing(std::vector<std::size_t> columns) override {
    keeps_missing_ = std::move(columns);
    return missing_ == MissingPolicy::drop;
  }

 private:
  bool in_place() const {
    const bool known = header_.type != NpyType::i64 && header_.type != NpyType::u64;
    const bool aligned = reinterpret_cast<std::uintptr_t>(array_.data()) % header_.item == 0;
    return known && aligned && !array_.swapped();
  }
  // Returns the number of the first element that is read.
  std::size_t first(std::size_t column) const {
    return (header_.fortran ? column * header_.rows : column) + part_.first * stride();
  }
  std::size_t stride() const { return header_.fortran ? 1 : header_.columns; }

  Column view(std::size_t column) const {
    return with_npy_type(header_.type, [&](auto one) -> Column {
      using T = decltype(one);
      if constexpr (sizeof(T) == 8 && !std::is_same_v<T, double>) {
        return {};  // needs a conversion
      } else {
        return Column(reinterpret_cast<const T*>(array_.data()) + first(column), part_.end - part_.first,
                      static_cast<std::ptrdiff_t>(stride()));
      }
    });
  }

  // Doubles round integers of 64 bits from 2^53 on, so that two groups could become one without a word.
  void check_groups(const TableColumns& out) const {
    if (header_.type != NpyType::i64 && header_.type != NpyType::u64) return;
    const Column& groups = out.columns.back();
    for (std::size_t i = 0; i < out.rows; ++i) {
      if (std::fabs(groups[i]) < 0x1p53) continue;
      throw BadData(
          fmt::format("{}: the group is about {}, and integers from 2^53 = 9007199254740992 on cannot all be "
                      "told apart here; number the groups anew, or save them as text in a CSV file",
                      out.place(i), groups[i]));
    }
  }

  // Copies the rows in `rows`, or all if it is empty.
  RowVector<double> copy(std::size_t column, const RowVector<std::size_t>& rows) const {
    RowVector<double> out(rows.empty() ? part_.end - part_.first : rows.size());
    if (rows.empty()) array_.read(first(column), stride(), out.size(), out.data());
    for (std::size_t i = 0; i < rows.size(); ++i)
      array_.read(first(column) + rows[i] * stride(), 1, 1, &out[i]);
    return out;
  }

  // Leaves out the rows with NaN in one of these columns.
  void find_rows(std::span<const std::size_t> columns, TableColumns& out) const {
    RowVector<char> missing(out.rows, 0);
    for (const std::size_t column : columns) {
      if (std::ranges::find(keeps_missing_, column) != keeps_missing_.end()) continue;
      const RowVector<double> values = copy(column, {});
      for (std::size_t i = 0; i < values.size(); ++i) missing[i] |= std::isnan(values[i]);
    }
    out.dropped_missing = static_cast<std::size_t>(std::count(missing.begin(), missing.end(), 1));
    out.rows -= out.dropped_missing;
    if (out.rows == 0) {
      throw BadData(fmt::format("{}: no data left: all {} rows have missing values", source_.name,
                                out.dropped_missing));
    }
    if (out.dropped_missing == 0) return;
    out.kept.reserve(out.rows);
    for (std::size_t i = 0; i < missing.size(); ++i) {
      if (!missing[i]) out.kept.push_back(i);
    }
  }

  OpenedSource source_;
  MissingPolicy missing_;
  std::vector<std::size_t> keeps_missing_;  // columns whose NaN drop no row
  NpyArray array_;
  const NpyHeader& header_;
  RowPart part_;  // the rows to read
  CsvShape shape_;
};

}  // namespace

std::unique_ptr<Table> make_npy_table(OpenedSource source, const CsvOptions& options) {
  return std::make_unique<NpyTable>(std::move(source), options);
}

}  // namespace nlsq::cli
