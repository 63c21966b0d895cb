// Implements NpyArray: maps the file, or reads a stream.
#include "table/npy/npy_array.hpp"

#include "errors.hpp"
#include "table/source/mapped_file.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace nlsq::cli {

NpyArray::NpyArray(OpenedSource& source, std::size_t most_dimensions) : gzip_(source.gzip) {
  try {
    std::size_t start = 0;
    header_ = read_npy_header(*source.bytes, start, most_dimensions);
    load(source, start);
  } catch (const BadData& e) {
    throw BadData(source.name + ": " + e.what());
  }
}

std::string NpyArray::describe() const {
  static const char* const kNames[] = {"float64", "float32", "int8",   "uint8", "int16",
                                       "uint16",  "int32",   "uint32", "int64", "uint64"};
  return fmt::format(".npy of {}{}{}", kNames[static_cast<int>(header_.type)],
                     header_.big_endian ? ", big-endian" : "", gzip_ ? ", gzip" : "");
}

void NpyArray::read(std::size_t first, std::size_t stride, std::size_t count, double* out,
                    std::size_t out_stride) const {
  with_npy_type(header_.type, [&](auto one) {
    using T = decltype(one);
    const auto copy = [&](bool other_order) {
      for (std::size_t i = 0; i < count; ++i)
        out[i * out_stride] = npy_element<T>(data_, first + i * stride, other_order);
    };
    // Two loops, because the compiler makes the usual one much faster.
    if (swapped()) copy(true);
    else copy(false);
  });
}

void NpyArray::load(OpenedSource& source, std::size_t start) {
  const std::size_t size = header_.bytes();
  const int file = source.gzip ? -1 : source.bytes->file();
  if (file >= 0 && source.size_hint >= start) {
    check_size(source.size_hint - start, source.size_hint - start > size);
    auto mapped = std::make_shared<MappedFile>(file, source.size_hint);
    if (mapped->size() > 0) {
      data_ = mapped->data() + start;
      memory_ = std::move(mapped);
      return;
    }
  }
  load_from_stream(*source.bytes);
}

// Memory grows with the data that arrive, not with the size in the header.
void NpyArray::load_from_stream(ByteSource& source) {
  const std::size_t size = header_.bytes();
  auto bytes = std::make_shared<std::vector<std::byte>>();
  constexpr std::size_t kStep = std::size_t{16} << 20;
  std::size_t have = 0;
  while (have < size) {
    const std::size_t step = std::min(size - have, std::max(have, kStep));
    bytes->resize(have + step);
    const std::size_t got = read_fully(source, reinterpret_cast<char*>(bytes->data() + have), step);
    have += got;
    if (got < step) break;
  }
  char more = '\0';
  check_size(have, have == size && source.read(&more, 1) != 0);
  data_ = bytes->data();
  memory_ = std::move(bytes);
}

void NpyArray::check_size(std::size_t have, bool more) const {
  const std::size_t promised = header_.bytes();
  if (have < promised) {
    throw BadData(fmt::format(
        "this .npy file is truncated: its header promises {} bytes of data, there are {}", promised, have));
  }
  if (more) throw BadData("there is something behind the array of this .npy file; save one array a file");
}

}  // namespace nlsq::cli
