// Writes .npz archives for tests, with members stored or deflated.
#pragma once

#include "deflate_support.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace zip_support {

inline std::string little(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i, value >>= 8) out += static_cast<char>(value & 0xFF);
  return out;
}

// Returns a .npy file of doubles. `shape` has the form that Python writes: "(3,)".
inline std::string npy(const std::vector<double>& values, const std::string& shape,
                       const char* type = "<f8") {
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}\n", type, shape);
  return "\x93NUMPY" + little(1, 2).substr(0, 1) + std::string(1, '\0') + little(header.size(), 2) + header +
         std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
}

inline std::string npy(const std::vector<double>& values) {
  return npy(values, fmt::format("({},)", values.size()));
}

// With `zip64` the sizes are in extra fields, as numpy.savez writes them in local headers.
inline std::string zip(const std::vector<std::pair<std::string, std::string>>& members, bool deflate,
                       bool zip64 = false) {
  std::string out, directory;
  for (const auto& [name, content] : members) {
    const std::string data = deflate ? deflate_support::deflated(content, -15) : content;
    const auto crc =
        crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size()));
    const std::uint64_t none = 0xFFFFFFFFu, offset = out.size();
    const std::string extra =
        zip64 ? little(1, 2) + little(16, 2) + little(content.size(), 8) + little(data.size(), 8) : "";
    const std::string common = little(20, 2) + little(0, 2) + little(deflate ? 8 : 0, 2) + little(0, 4) +
                               little(crc, 4) + little(zip64 ? none : data.size(), 4) +
                               little(zip64 ? none : content.size(), 4) + little(name.size(), 2) +
                               little(extra.size(), 2);
    out += "PK\x03\x04" + common + name + extra + data;
    directory += "PK\x01\x02" + little(20, 2) + common + little(0, 2) + little(0, 2) + little(0, 2) +
                 little(0, 4) + little(offset, 4) + name + extra;
  }
  const std::size_t at = out.size();
  return out + directory + "PK\x05\x06" + little(0, 4) + little(members.size(), 2) +
         little(members.size(), 2) + little(directory.size(), 4) + little(at, 4) + little(0, 2);
}

}  // namespace zip_support
