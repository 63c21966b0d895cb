#pragma once

#include <nlsq/export.hpp>

#include <string>

namespace nlsq::inline v0 {

// "0.1.0".
NLSQ_API const char* version() noexcept;
// Version, kernel sets available and in use, and the libraries this build links.
NLSQ_API std::string build_information();

}  // namespace nlsq::inline v0
