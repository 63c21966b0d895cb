// UTF-16 to UTF-8 on the way in.
#pragma once

#include "table/source/byte_source.hpp"

namespace nlsq::cli {

// `utf16` stands after its byte order mark. A lone surrogate or an odd last byte comes out as bytes that
// are not valid UTF-8, so that the reader refuses them at their line and column.
std::unique_ptr<ByteSource> make_utf16_source(std::unique_ptr<ByteSource> utf16, bool big_endian);

}  // namespace nlsq::cli
