// Implements tables of .npy files: maps the file, or reads a stream, and provides its columns.
#include "table/npy/npy_table.hpp"

#include "errors.hpp"
#include "table/npy/npy_header.hpp"
#include "table/source/mapped_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

namespace nlsq::cli {

namespace {

// Element `i` of memory that may be misaligned or in the other byte order.
template <class T>
double element(const std::byte* data, std::size_t i, bool swapped) {
  std::array<std::byte, sizeof(T)> bytes;
  std::memcpy(bytes.data(), data + i * sizeof(T), sizeof(T));
  if (swapped) std::reverse(bytes.begin(), bytes.end());
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return static_cast<double>(value);
}

// Calls `use` with a value of the corresponding C++ type.
template <class Use>
auto with_type(NpyType type, Use use) {
  switch (type) {
    case NpyType::f64: return use(double{});
    case NpyType::f32: return use(float{});
    case NpyType::i8: return use(std::int8_t{});
    case NpyType::u8: return use(std::uint8_t{});
    case NpyType::i16: return use(std::int16_t{});
    case NpyType::u16: return use(std::uint16_t{});
    case NpyType::i32: return use(std::int32_t{});
    case NpyType::u32: return use(std::uint32_t{});
    case NpyType::i64: return use(std::int64_t{});
    case NpyType::u64: break;
  }
  return use(std::uint64_t{});
}

class NpyTable final : public Table {
 public:
  NpyTable(OpenedSource source, MissingPolicy missing) : source_(std::move(source)), missing_(missing) {
    try {
      header_ = read_npy_header(*source_.bytes, start_);
      load();
    } catch (const BadData& e) {
      throw BadData(source_.name + ": " + e.what());
    }
    shape_.names.resize(header_.columns);
  }

  const CsvShape& shape() const override { return shape_; }
  const std::string& name() const override { return source_.name; }
  const std::string& origin() const override { return source_.name; }

  std::string describe(std::size_t rows) const override {
    static const char* const kNames[] = {"float64", "float32", "int8",   "uint8", "int16",
                                         "uint16",  "int32",   "uint32", "int64", "uint64"};
    return fmt::format("{} row{}, {} column{}, .npy of {}{}{}", rows, rows == 1 ? "" : "s", header_.columns,
                       header_.columns == 1 ? "" : "s", kNames[static_cast<int>(header_.type)],
                       header_.big_endian ? ", big-endian" : "", source_.gzip ? ", gzip" : "");
  }

  TableColumns read(std::span<const std::size_t> numbers, std::span<const TextMatch> texts,
                    std::optional<std::size_t> group) override {
    if (!texts.empty())
      throw BadData(source_.name +
                    ": this array holds numbers; a comparison with a text needs a text column");
    const std::vector<std::size_t> columns = with_group(numbers, group);
    TableColumns out;
    out.name = source_.name;
    out.rows = header_.rows;
    out.finite = header_.type != NpyType::f64 && header_.type != NpyType::f32;
    if (missing_ == MissingPolicy::drop && !out.finite) find_rows(columns, out);
    for (const std::size_t column : columns) {
      if (out.kept.empty() && in_place()) {
        out.columns.push_back(view(column));
      } else {
        out.own(copy(column, out.kept));
      }
    }
    out.memory.push_back(memory_);
    return out;
  }

 private:
  void load() {
    const std::size_t size = header_.bytes();
    const int file = source_.gzip ? -1 : source_.bytes->file();
    if (file >= 0 && source_.size_hint >= start_) {
      check_size(source_.size_hint - start_, source_.size_hint - start_ > size);
      auto mapped = std::make_shared<MappedFile>(file, source_.size_hint);
      if (mapped->size() > 0) {
        data_ = mapped->data() + start_;
        memory_ = std::move(mapped);
        return;
      }
    }
    load_from_stream(size);
  }

  // Memory grows with the data that arrive, not with the size in the header.
  void load_from_stream(std::size_t size) {
    auto bytes = std::make_shared<std::vector<std::byte>>();
    constexpr std::size_t kStep = std::size_t{16} << 20;
    std::size_t have = 0;
    while (have < size) {
      const std::size_t step = std::min(size - have, std::max(have, kStep));
      bytes->resize(have + step);
      const std::size_t got = read_fully(*source_.bytes, reinterpret_cast<char*>(bytes->data() + have), step);
      have += got;
      if (got < step) break;
    }
    char more = '\0';
    check_size(have, have == size && source_.bytes->read(&more, 1) != 0);
    data_ = bytes->data();
    memory_ = std::move(bytes);
  }

  void check_size(std::size_t have, bool more) const {
    const std::size_t promised = header_.bytes();
    if (have < promised) {
      throw BadData(fmt::format(
          "this .npy file is truncated: its header promises {} bytes of data, there are {}", promised, have));
    }
    if (more) throw BadData("there is something behind the array of this .npy file; save one array a file");
  }

  bool in_place() const {
    const bool known = header_.type != NpyType::i64 && header_.type != NpyType::u64;
    const bool aligned = reinterpret_cast<std::uintptr_t>(data_) % header_.item == 0;
    return known && aligned && !swapped();
  }
  bool swapped() const {
    return header_.item > 1 && header_.big_endian == (std::endian::native == std::endian::little);
  }
  std::size_t first(std::size_t column) const { return header_.fortran ? column * header_.rows : column; }
  std::size_t stride() const { return header_.fortran ? 1 : header_.columns; }

  Column view(std::size_t column) const {
    return with_type(header_.type, [&](auto one) -> Column {
      using T = decltype(one);
      if constexpr (sizeof(T) == 8 && !std::is_same_v<T, double>) {
        return {};  // needs a conversion
      } else {
        return Column(reinterpret_cast<const T*>(data_) + first(column), header_.rows,
                      static_cast<std::ptrdiff_t>(stride()));
      }
    });
  }

  // Copies the rows in `rows`, or all if it is empty.
  std::vector<double> copy(std::size_t column, const std::vector<std::size_t>& rows) const {
    std::vector<double> out(rows.empty() ? header_.rows : rows.size());
    const bool other_order = swapped();
    with_type(header_.type, [&](auto one) {
      for (std::size_t i = 0; i < out.size(); ++i) {
        const std::size_t row = rows.empty() ? i : rows[i];
        out[i] = element<decltype(one)>(data_, first(column) + row * stride(), other_order);
      }
    });
    return out;
  }

  // Leaves out the rows with NaN in one of these columns.
  void find_rows(std::span<const std::size_t> columns, TableColumns& out) const {
    std::vector<char> missing(header_.rows, 0);
    for (const std::size_t column : columns) {
      const std::vector<double> values = copy(column, {});
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
  NpyHeader header_;
  CsvShape shape_;
  std::size_t start_ = 0;  // offset of the data in the file
  std::shared_ptr<void> memory_;
  const std::byte* data_ = nullptr;
};

}  // namespace

std::unique_ptr<Table> make_npy_table(OpenedSource source, MissingPolicy missing) {
  return std::make_unique<NpyTable>(std::move(source), missing);
}

}  // namespace nlsq::cli
