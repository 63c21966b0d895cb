// Implements NpzFile (PKWARE APPNOTE 6.3, numpy/lib/format.py).
#include "images/npz_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include <bit>

namespace nlsq::cli {

namespace {

// These mark a field whose 64-bit number is elsewhere.
constexpr std::uint64_t k32 = 0xFFFFFFFFu, k16 = 0xFFFFu;
constexpr std::uint64_t kVersion = 45;  // of zip64

// Returns a little-endian number of `bytes` bytes.
std::string little(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i, value >>= 8) out += static_cast<char>(value & 0xFF);
  return out;
}

// Returns the header of a .npy file. NumPy expects the data to begin at a multiple of 64.
std::string npy_header(const char* type, const std::vector<std::size_t>& shape) {
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({},), }}", type,
                                 fmt::join(shape, ", "));
  constexpr std::size_t kBefore = 10, kMultiple = 64;
  text.append(kMultiple - 1 - (kBefore + text.size()) % kMultiple, ' ');
  text += '\n';
  return "\x93NUMPY" + little(1, 2) + little(text.size(), 2) + text;
}

constexpr const char* kDouble = std::endian::native == std::endian::little ? "<f8" : ">f8";

}  // namespace

void NpzFile::add(const std::string& name, const std::vector<std::size_t>& shape,
                  std::span<const double> values) {
  add_bytes(name, npy_header(kDouble, shape), std::as_bytes(values));
}

void NpzFile::add(const std::string& name, const std::vector<std::size_t>& shape,
                  std::span<const std::uint8_t> values) {
  add_bytes(name, npy_header("|u1", shape), std::as_bytes(values));
}

void NpzFile::write(std::string_view text) {
  file_.write(text);
  written_ += text.size();
}

void NpzFile::add_bytes(const std::string& name, const std::string& header,
                        std::span<const std::byte> bytes) {
  Member member{name + ".npy", 0, header.size() + bytes.size(), written_};
  uLong crc = crc32_z(0, reinterpret_cast<const Bytef*>(header.data()), header.size());
  crc = crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  member.crc = static_cast<std::uint32_t>(crc);
  constexpr std::uint64_t kNameInUtf8 = 0x800, kStored = 0, kFirstOfJanuary1980 = 0x210000;
  write("PK\x03\x04" + little(kVersion, 2) + little(kNameInUtf8, 2) + little(kStored, 2) +
        little(kFirstOfJanuary1980, 4) + little(member.crc, 4) + little(k32, 4) + little(k32, 4) +
        little(member.name.size(), 2) + little(20, 2) + member.name + little(1, 2) + little(16, 2) +
        little(member.size, 8) + little(member.size, 8));
  write(header);
  constexpr std::size_t kPiece = std::size_t{1} << 18;
  for (std::size_t at = 0; at < bytes.size(); at += kPiece) {
    write({reinterpret_cast<const char*>(bytes.data()) + at, std::min(kPiece, bytes.size() - at)});
  }
  members_.push_back(std::move(member));
}

void NpzFile::commit() {
  const std::uint64_t start = written_, count = members_.size();
  for (const Member& m : members_) {
    constexpr std::uint64_t kNameInUtf8 = 0x800, kFirstOfJanuary1980 = 0x210000;
    write("PK\x01\x02" + little(kVersion, 2) + little(kVersion, 2) + little(kNameInUtf8, 2) + little(0, 2) +
          little(kFirstOfJanuary1980, 4) + little(m.crc, 4) + little(k32, 4) + little(k32, 4) +
          little(m.name.size(), 2) + little(28, 2) + little(0, 2) + little(0, 2) + little(0, 2) +
          little(0, 4) + little(k32, 4) + m.name + little(1, 2) + little(24, 2) + little(m.size, 8) +
          little(m.size, 8) + little(m.offset, 8));
  }
  const std::uint64_t end = written_;
  write("PK\x06\x06" + little(44, 8) + little(kVersion, 2) + little(kVersion, 2) + little(0, 4) +
        little(0, 4) + little(count, 8) + little(count, 8) + little(end - start, 8) + little(start, 8));
  write("PK\x06\x07" + little(0, 4) + little(end, 8) + little(1, 4));
  write("PK\x05\x06" + little(0, 4) + little(k16, 2) + little(k16, 2) + little(k32, 4) + little(k32, 4) +
        little(0, 2));
  file_.commit();
}

}  // namespace nlsq::cli
