// Reads the members of a zip archive in memory (PKWARE APPNOTE 6.3): stored or deflated, also zip64.
// npz_table.cpp uses it.
#pragma once

#include "table/source/byte_source.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace nlsq::cli {

struct ZipMember {
  std::string name;
  std::uint16_t method = 0;  // 0 stored, 8 deflated
  bool encrypted = false;
  std::uint32_t crc = 0;
  std::uint64_t compressed = 0, size = 0;  // bytes
  std::uint64_t header = 0;                // offset of the local header
};

// Lists the members in the order of the directory at the archive's end. Throws BadData, without the file
// name, for a damaged archive.
std::vector<ZipMember> zip_members(std::string_view archive);

// Returns the content of a member. `archive` must outlive the source. At the end, read() checks size and
// checksum, and throws BadData if they differ.
std::unique_ptr<ByteSource> open_member(std::string_view archive, const ZipMember& member);

}  // namespace nlsq::cli
