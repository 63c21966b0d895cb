// Takes any bytes as a table. The first two bytes choose the options. An accepted table must be finite and
// rectangular, must not depend on how the bytes arrive, how they are divided into blocks and how many threads
// parse these, and must have the same bits when it is written and read again. A refusal must have a reason,
// which is the same in all these cases.
#include "errors.hpp"
#include "table/csv/csv_reader.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace nlsq::cli;

constexpr std::size_t kLargest = std::size_t{1} << 20;  // bytes after decompression

// Returns at most `step` bytes a call, and `kLargest` in all.
class Trickle final : public ByteSource {
 public:
  Trickle(std::unique_ptr<ByteSource> from, std::size_t step) : from_(std::move(from)), step_(step) {}
  std::size_t read(char* out, std::size_t size) override {
    const std::size_t got = from_->read(out, std::min({size, step_, kLargest - given_}));
    given_ += got;
    return got;
  }

 private:
  std::unique_ptr<ByteSource> from_;
  std::size_t step_, given_ = 0;
};

struct Result {
  std::string refusal;  // empty: accepted
  std::size_t columns = 0;
  CsvColumns table;
};

Result read(const std::string& bytes, const CsvOptions& options, std::size_t step) {
  Result result;
  try {
    OpenedSource source = open_memory(bytes);
    source.bytes = std::make_unique<Trickle>(std::move(source.bytes), step);
    CsvReader reader(std::move(source), options);
    result.columns = reader.shape().columns();
    std::vector<std::size_t> wanted(result.columns);
    for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = i;
    result.table = reader.read(wanted);
  } catch (const BadData& error) {
    result.refusal = error.what();
    if (result.refusal.empty()) std::abort();
  }
  return result;
}

bool same_bits(const CsvColumns& a, const CsvColumns& b) {
  if (a.rows != b.rows || a.values.size() != b.values.size()) return false;
  for (std::size_t j = 0; j < a.values.size(); ++j) {
    if (!std::equal(a.values[j].begin(), a.values[j].end(), b.values[j].begin(), b.values[j].end(),
                    [](double x, double y) {
                      return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
                    })) {
      return false;
    }
  }
  return true;
}

std::string written(const CsvColumns& table) {
  std::string text;
  for (std::size_t i = 0; i < table.rows; ++i) {
    for (std::size_t j = 0; j < table.values.size(); ++j) {
      if (j > 0) text += ',';
      text += shortest(table.values[j][i]);
    }
    text += '\n';
  }
  return text;
}

CsvOptions chosen(std::uint8_t a, std::uint8_t b) {
  CsvOptions options;
  options.threads = 1;
  constexpr std::optional<char> delimiters[] = {std::nullopt, ',', ';', kBlanks};
  options.delimiter = delimiters[a & 3];
  options.header = static_cast<HeaderChoice>(((a >> 2) & 3) % 3);
  options.missing = (a & 16) != 0 ? MissingPolicy::drop : MissingPolicy::error;
  options.skip = (a >> 5) & 3;
  if ((b & 1) != 0 && options.delimiter != ',') options.number.decimal = ',';
  if ((b & 2) != 0) options.number.thousands = options.number.decimal == ',' ? '.' : '\'';
  if ((b & 4) != 0) options.comment = "//";
  if ((b & 8) != 0) options.max_line = 64;
  return options;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const CsvOptions options = chosen(data[0], data[1]);
  const std::string bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const Result whole = read(bytes, options, kLargest);
  CsvOptions cut = options;
  cut.block = 1 + (data[1] >> 4) * std::size_t{5};
  cut.threads = (data[0] & 128) != 0 ? 2 : 1;
  const Result pieces = read(bytes, cut, 1 + data[0] % 7);
  if (whole.refusal != pieces.refusal) std::abort();
  if (!whole.refusal.empty()) return 0;
  if (!same_bits(whole.table, pieces.table) || whole.table.values.size() != whole.columns) std::abort();
  for (const std::vector<double>& column : whole.table.values) {
    if (column.size() != whole.table.rows) std::abort();
    if (!std::all_of(column.begin(), column.end(), [](double v) { return std::isfinite(v); })) std::abort();
  }
  if (whole.table.rows > 0) {
    CsvOptions plain;
    plain.delimiter = ',';
    plain.header = HeaderChoice::no;
    const Result again = read(written(whole.table), plain, kLargest);
    if (!again.refusal.empty() || !same_bits(whole.table, again.table)) std::abort();
  }
  return 0;
}
