// Parses the header of .npy files.
#include "table/npy/npy_header.hpp"

#include "errors.hpp"
#include "table/source/utf8.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>
#include <string>
#include <vector>

namespace nlsq::cli {

namespace {

// Parses a dictionary of Python literals as NumPy writes it: {'descr': '<f8', 'fortran_order': False,
// 'shape': (3,), }
class Literals {
 public:
  explicit Literals(std::string_view text) : text_(text) {}

  bool accept(char c) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail();
  }
  std::string string() {
    skip_blanks();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    const std::size_t end = quote == '\'' || quote == '"' ? text_.find(quote, at_ + 1) : std::string::npos;
    if (end == std::string::npos) fail();
    std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }
  bool boolean() {
    skip_blanks();
    for (const auto& [word, value] : {std::pair("True", true), std::pair("False", false)}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += std::string_view(word).size();
      return value;
    }
    fail();
  }
  std::vector<std::size_t> tuple() {
    std::vector<std::size_t> values;
    expect('(');
    while (!accept(')')) {
      skip_blanks();
      std::size_t value = 0;
      const char* const begin = text_.data() + at_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
      if (error != std::errc{}) fail();
      at_ += static_cast<std::size_t>(end - begin);
      accept('L');  // written by Python 2
      values.push_back(value);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return values;
  }
  bool at_end() {
    skip_blanks();
    return at_ == text_.size();
  }
  [[noreturn]] void fail() const {
    throw BadData(
        fmt::format("the header of this .npy file cannot be read ('{}'); save it again with numpy.save",
                    printable(text_.substr(0, text_.find('\n')), 80)));
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  std::string_view text_;
  std::size_t at_ = 0;
};

void take_type(const std::string& descr, NpyHeader& header) {
  struct Known {
    const char* name;
    NpyType type;
    std::size_t item;
  };
  constexpr Known kKnown[] = {{"f8", NpyType::f64, 8}, {"f4", NpyType::f32, 4}, {"i1", NpyType::i8, 1},
                              {"u1", NpyType::u8, 1},  {"b1", NpyType::u8, 1},  {"i2", NpyType::i16, 2},
                              {"u2", NpyType::u16, 2}, {"i4", NpyType::i32, 4}, {"u4", NpyType::u32, 4},
                              {"i8", NpyType::i64, 8}, {"u8", NpyType::u64, 8}};
  const char order = descr.empty() ? '\0' : descr[0];
  const bool has_order = order == '<' || order == '>' || order == '|' || order == '=';
  for (const Known& known : kKnown) {
    if (!has_order || std::string_view(descr).substr(1) != known.name) continue;
    if (order == '|' && known.item > 1) break;
    header.type = known.type;
    header.item = known.item;
    header.big_endian = order == '>' && known.item > 1;
    return;
  }
  if (has_order && (descr.substr(1) == "c8" || descr.substr(1) == "c16")) {
    throw BadData(
        "the array holds complex numbers, and real ones can be fitted: save its parts, a.real and a.imag, or "
        "abs(a), as arrays of their own");
  }
  throw BadData(
      fmt::format("the array has elements of type '{}'; real numbers of float64, float32 or an integer type "
                  "can be fitted: convert it with .astype('float64') before numpy.save",
                  printable(descr)));
}

void take_shape(const std::vector<std::size_t>& shape, std::size_t most, NpyHeader& header) {
  if (shape.empty() || shape.size() > most) {
    throw BadData(fmt::format(
        "the array has {} dimensions; {}", shape.size(),
        shape.size() == 3 ? "fit each pixel of it with --maps FILE.npz, or save one of rows by columns"
        : most == 2       ? "save one of rows by columns, or a single column"
                          : "save one of 3: the image by the points of a pixel"));
  }
  header.shape = shape;
  header.rows = shape[0];
  for (std::size_t d = 1; d < shape.size(); ++d) {
    if (shape[d] != 0 && header.columns > std::numeric_limits<std::size_t>::max() / shape[d]) {
      throw BadData("the header of this .npy file is damaged: it promises more than a file can hold");
    }
    header.columns *= shape[d];
  }
  if (header.rows == 0 || header.columns == 0) throw BadData("the array is empty: there is nothing to fit");
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max() / 2;
  if (header.rows > kMost / header.columns / header.item) {
    throw BadData("the header of this .npy file is damaged: it promises more than a file can hold");
  }
}

}  // namespace

NpyHeader parse_npy_header(std::string_view text, std::size_t most_dimensions) {
  NpyHeader header;
  Literals literals(text);
  std::string descr;
  std::vector<std::size_t> shape;
  bool has_descr = false, has_order = false, has_shape = false;
  literals.expect('{');
  while (!literals.accept('}')) {
    const std::string key = literals.string();
    literals.expect(':');
    if (key == "descr") {
      if (literals.accept('[')) {
        throw BadData(
            "this .npy file holds records with named fields (a structured array); save its columns as "
            "an array of numbers: numpy.column_stack([a['x'], a['y']])");
      }
      descr = literals.string();
      has_descr = true;
    } else if (key == "fortran_order") {
      header.fortran = literals.boolean();
      has_order = true;
    } else if (key == "shape") {
      shape = literals.tuple();
      has_shape = true;
    } else {
      literals.fail();
    }
    if (!literals.accept(',')) {
      literals.expect('}');
      break;
    }
  }
  if (!has_descr || !has_order || !has_shape || !literals.at_end()) literals.fail();
  take_type(descr, header);
  take_shape(shape, most_dimensions, header);
  return header;
}

std::size_t read_fully(ByteSource& source, char* out, std::size_t size) {
  std::size_t have = 0;
  while (have < size) {
    const std::size_t got = source.read(out + have, size - have);
    if (got == 0) break;
    have += got;
  }
  return have;
}

NpyHeader read_npy_header(ByteSource& source, std::size_t& start, std::size_t most_dimensions) {
  constexpr std::size_t kLongestHeader = std::size_t{1} << 20;
  constexpr const char* kTruncated = "this .npy file ends within its header: it is truncated";
  std::array<unsigned char, 12> head{};
  char* const bytes = reinterpret_cast<char*>(head.data());
  if (read_fully(source, bytes, 8) != 8) throw BadData(kTruncated);
  const int version = head[6];
  if (version < 1 || version > 3) {
    throw BadData(fmt::format("this .npy file has format version {}, which is not known here", version));
  }
  const std::size_t digits = version == 1 ? 2 : 4;
  if (read_fully(source, bytes + 8, digits) != digits) throw BadData(kTruncated);
  std::size_t size = 0;
  for (std::size_t i = digits; i-- > 0;) size = size << 8 | head[8 + i];
  if (size > kLongestHeader) throw BadData("the header of this .npy file is damaged: it is too long");
  std::string text(size, '\0');
  if (read_fully(source, text.data(), size) != size) throw BadData(kTruncated);
  start = 8 + digits + size;
  return parse_npy_header(text, most_dimensions);
}

}  // namespace nlsq::cli
