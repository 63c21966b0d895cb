// Tables that tests of the program read.
#pragma once

#include "program.hpp"

#include <cmath>
#include <random>

namespace program {

inline const std::string kData = NLSQ_SOURCE_DIR "/data/";
inline const std::string kDecay = kData + "decay.csv";

// A fit that takes long: many rows, and a starting point far away.
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

}  // namespace program
