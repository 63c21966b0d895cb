// Converts a number for a JSON document.
#pragma once

#include <nlohmann/json.hpp>

#include <cmath>

namespace nlsq::cli {

// Returns the number, or null for infinity and NaN, for which JSON has no words.
inline nlohmann::ordered_json json_number(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

}  // namespace nlsq::cli
