// Takes any bytes as an array of NumPy's, after the magic bytes that begin one, and in pieces. An accepted
// array has the rows and columns that its header promises. A refusal has a reason, which is the same if rows
// with missing values may be left out, unless no row is left then.
#include "errors.hpp"
#include "table/table.hpp"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using namespace nlsq::cli;

struct Result {
  std::string refusal;  // empty: accepted
  std::size_t rows = 0;
};

Result read(const std::string& bytes, MissingPolicy missing) {
  Result result;
  try {
    CsvOptions options;
    options.missing = missing;
    const auto table = open_table(open_memory(bytes), options);
    std::vector<std::size_t> wanted;
    for (std::size_t i = 0; i < table->shape().columns() && i < 8; ++i) wanted.push_back(i);
    const TableColumns columns = table->read(wanted);
    if (columns.columns.size() != wanted.size()) std::abort();
    for (const nlsq::Column& column : columns.columns) {
      if (column.size() != columns.rows) std::abort();
      std::vector<double> values(column.size());
      column.read(0, values.size(), values.data());
      for (const double value : values) {
        if (missing == MissingPolicy::drop && std::isnan(value)) std::abort();
      }
    }
    result.rows = columns.rows + columns.dropped_missing;
  } catch (const BadData& error) {
    result.refusal = error.what();
    if (result.refusal.empty()) std::abort();
  }
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes = "\x93NUMPY" + std::string(reinterpret_cast<const char*>(data), size);
  const Result all = read(bytes, MissingPolicy::error), some = read(bytes, MissingPolicy::drop);
  if (all.refusal.empty() && some.refusal.empty() && all.rows != some.rows) std::abort();
  if (!all.refusal.empty() && all.refusal != some.refusal) std::abort();
  if (all.refusal.empty() && !some.refusal.empty() && some.refusal.find("no data left") == std::string::npos)
    std::abort();
  return 0;
}
