// A number of a JSON document.
#pragma once

#include <nlohmann/json.hpp>

#include <cmath>

namespace nlsq::cli {

// JSON has no words for infinity and NaN, so they become null.
inline nlohmann::ordered_json json_number(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

}  // namespace nlsq::cli
