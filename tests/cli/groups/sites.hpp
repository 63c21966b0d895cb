// Makes a table of several decays, and reads the lines of --json of groups, for tests of --group-by.
#pragma once

#include <nlohmann/json.hpp>

#include <cmath>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace sites_of_groups {

// Returns decays of sites with `rows` rows each. A row of each site is followed by the next row of each.
inline std::string sites(const std::vector<std::string>& names, int rows, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(0, 0.05);
  std::string text = "site,t,v\n";
  for (int i = 0; i < rows; ++i) {
    for (std::size_t k = 0; k < names.size(); ++k) {
      const double t = 6.0 * i / rows,
                   v = (4 + 0.2 * static_cast<double>(k)) * std::exp(-0.8 * t) + 1 + noise(random);
      text += names[k] + "," + std::to_string(t) + "," + std::to_string(v) + "\n";
    }
  }
  return text;
}

inline const std::string kFit = " --x t --y v --model exp --group-by site ";

inline std::vector<nlohmann::json> lines_of(const std::string& text) {
  std::vector<nlohmann::json> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out.push_back(nlohmann::json::parse(line));
  return out;
}

}  // namespace sites_of_groups
