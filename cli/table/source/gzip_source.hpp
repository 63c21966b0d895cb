// gzip (RFC 1952), concatenated members included.
#pragma once

#include "table/source/byte_source.hpp"

namespace nlsq::cli {

// Throws BadData from read(): truncated data, a checksum that does not match, bytes after the last
// member that are neither a member nor zero padding.
std::unique_ptr<ByteSource> make_gzip_source(std::unique_ptr<ByteSource> compressed);

}  // namespace nlsq::cli
