// Makes tables that tests of the program read.
#pragma once

#include "program.hpp"
#include "zip_support.hpp"

#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace program {

inline const std::string kData = NLSQ_SOURCE_DIR "/data/";
inline const std::string kDecay = kData + "decay.csv";

// Writes a table with many rows, whose fit takes long.
inline std::string long_table(const Scratch& scratch, int rows) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> noise(0, 0.01);
  std::string text = "x,y\n";
  char line[80];
  for (int i = 0; i < rows; ++i) {
    const double x = 10.0 * i / rows;
    std::snprintf(line, sizeof line, "%.6g,%.6g\n", x, 2 * std::exp(-0.7 * x) + noise(random));
    text += line;
  }
  return scratch.write("long.csv", text);
}

// Returns a table with a noisy decay in every group. Two of three groups have 30 rows, the others fewer. Some
// groups are only noise, and some have too few rows for a fit.
inline std::string table_of_groups(int count) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> noise(0, 0.02);
  std::uniform_real_distribution<double> uniform(0.5, 2);
  std::string text = "g,x,y\n";
  char line[96];
  for (int g = 0; g < count; ++g) {
    const int rows = g % 100 == 50 ? 2 : g % 3 == 0 ? 20 + g % 7 : 30;
    const double a = g % 500 == 7 ? 0 : uniform(random), b = uniform(random);
    for (int i = 0; i < rows; ++i) {
      const double x = 4.0 * i / rows;
      std::snprintf(line, sizeof line, "s%d,%.5f,%.6f\n", g, x, a * std::exp(-b * x) + 0.3 + noise(random));
      text += line;
    }
  }
  return text;
}

// Returns a .npy file of noisy decays along the last axis. One pixel is only noise, and one is not finite.
inline std::string image_of_decays(int height, int width, int points) {
  std::mt19937_64 random(9);
  std::normal_distribution<double> noise(0, 0.02);
  std::uniform_real_distribution<double> uniform(0.5, 2);
  std::vector<double> values;
  for (int pixel = 0; pixel < height * width; ++pixel) {
    const double a = pixel == 77 ? 0 : uniform(random), b = uniform(random) / points;
    for (int i = 0; i < points; ++i) values.push_back(a * std::exp(-2 * b * i) + 0.3 + noise(random));
  }
  values[static_cast<std::size_t>(points) * 200] = std::nan("");
  return zip_support::npy(values, fmt::format("({}, {}, {})", height, width, points));
}

}  // namespace program
