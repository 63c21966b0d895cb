// Implements open_table(): the CSV or .npy reader for a source.
#include "table/table.hpp"

#include "table/csv/csv_reader.hpp"
#include "table/npy/npy_table.hpp"

#include <fmt/format.h>

#include <utility>

namespace nlsq::cli {

namespace {

class CsvTable final : public Table {
 public:
  CsvTable(OpenedSource source, const CsvOptions& options) : reader_(std::move(source), options) {}
  const CsvShape& shape() const override { return reader_.shape(); }
  const std::string& name() const override { return reader_.source().name; }
  const std::string& origin() const override { return reader_.origin(); }

  std::string describe(std::size_t rows) const override {
    const std::size_t columns = shape().columns();
    std::string text = fmt::format(
        "{} row{}, {} column{}, {}, {}", rows, rows == 1 ? "" : "s", columns, columns == 1 ? "" : "s",
        columns == 1 ? "no delimiter" : "delimiter " + delimiter_name(shape().delimiter),
        shape().has_header ? "header" : "no header");
    if (reader_.source().encoding != "UTF-8") text += ", " + reader_.source().encoding;
    if (reader_.source().gzip) text += ", gzip";
    return text;
  }

  TableColumns read(std::span<const std::size_t> columns) override {
    CsvColumns read = reader_.read(columns);
    TableColumns out;
    for (std::vector<double>& values : read.values) out.own(std::move(values));
    out.rows = read.rows;
    out.dropped_missing = read.dropped_missing;
    out.underflows = read.underflows;
    out.first_underflow = std::move(read.first_underflow);
    out.lines = std::move(read.lines);
    return out;
  }

 private:
  CsvReader reader_;
};

}  // namespace

std::unique_ptr<Table> open_table(OpenedSource source, const CsvOptions& options) {
  if (source.npy) return make_npy_table(std::move(source), options.missing);
  return std::make_unique<CsvTable>(std::move(source), options);
}

}  // namespace nlsq::cli
