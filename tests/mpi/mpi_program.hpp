// Runs nlsq-fit-mpi as a user would.
#pragma once

#include "program.hpp"

#include <string>

namespace program {

inline Outcome run_mpi(int processes, const std::string& arguments) {
  return run_command(std::string(NLSQ_MPIRUN) + " -n " + std::to_string(processes) +
                     " " NLSQ_BIN_DIR "/nlsq-fit-mpi " + arguments);
}

// Returns `rows` lines of a decay with noise, after a header.
inline std::string decay_rows(int first, int rows, int all) {
  std::string text;
  char line[96];
  for (int i = first; i < first + rows; ++i) {
    const double x = 5.0 * i / all, wave = std::sin(12.9898 * i) * 43758.5453;
    const double y = 3 * std::exp(-0.8 * x) + 0.4 + 0.1 * (wave - std::floor(wave) - 0.5);
    std::snprintf(line, sizeof line, "%.6f,%.6f,%d\n", x, y, i % 4);
    text += line;
  }
  return text;
}

}  // namespace program
