// Defines the version of the library. CMake reads it from this file.
#pragma once

#define NLSQ_VERSION_MAJOR 0
#define NLSQ_VERSION_MINOR 1
#define NLSQ_VERSION_PATCH 0
#define NLSQ_VERSION "0.1.0"

#include <nlsq/export.hpp>

#include <string>

namespace nlsq::inline v0 {

// Returns "0.1.0".
NLSQ_API const char* version() noexcept;
// Returns the version, the kernel sets available and in use, and the libraries of this build, as several
// lines of text.
NLSQ_API std::string build_information();

}  // namespace nlsq::inline v0
