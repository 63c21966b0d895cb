// Runs nlsq-fit-mpi as a user would.
#pragma once

#include "program.hpp"

#include <string>

namespace program {

// Without what mpirun itself says when a process ends with a status.
inline Outcome run_mpi(int processes, const std::string& arguments) {
  const std::string command = std::string(NLSQ_MPIRUN) + " -n " + std::to_string(processes) +
                              " " NLSQ_BIN_DIR "/nlsq-fit-mpi " + arguments + " 2>&1";
  Outcome outcome;
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  std::array<char, 4096> buffer;
  for (std::size_t n; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    outcome.out.append(buffer.data(), n);
  const int status = ::pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

// The result without what may differ between runs of one fit.
inline std::string without_circumstances(const std::string& text) {
  nlohmann::json object = nlohmann::json::parse(text);
  for (const char* const fact : {"options", "time", "peak_bytes", "threads"}) object.erase(fact);
  return object.dump();
}

// A decay with noise, `rows` lines behind a header.
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
