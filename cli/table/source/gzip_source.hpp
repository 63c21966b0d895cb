// Decodes gzip (RFC 1952), including concatenated members. byte_source.cpp uses it.
#pragma once

#include "table/source/byte_source.hpp"

namespace nlsq::cli {

// read() throws BadData for truncated data, a wrong checksum, and bytes after the last member that are
// neither a member nor zero padding.
std::unique_ptr<ByteSource> make_gzip_source(std::unique_ptr<ByteSource> compressed);

}  // namespace nlsq::cli
