// Compresses bytes into a gzip member.
#pragma once

#include "deflate_support.hpp"

#include <string>

namespace csv_support {

inline std::string gzip(const std::string& bytes) { return deflate_support::deflated(bytes, 15 + 16); }

}  // namespace csv_support
