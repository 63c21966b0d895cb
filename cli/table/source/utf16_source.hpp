// Converts UTF-16 input to UTF-8. byte_source.cpp uses it.
#pragma once

#include "table/source/byte_source.hpp"

namespace nlsq::cli {

// `utf16` must be just after its byte order mark. A lone surrogate or an odd last byte becomes invalid UTF-8,
// so that the reader reports its line and column.
std::unique_ptr<ByteSource> make_utf16_source(std::unique_ptr<ByteSource> utf16, bool big_endian);

}  // namespace nlsq::cli
