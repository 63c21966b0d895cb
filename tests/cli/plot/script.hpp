// Runs nlsq-fit with --plot FILE.gp and reads the script: its data blocks and settings.
#pragma once

#include "cli/program_data.hpp"

#include <sstream>
#include <string>
#include <vector>

namespace script {

using Rows = std::vector<std::vector<double>>;

// Returns the script of a fit. Fails the test if there is none.
inline std::string of(const program::Scratch& scratch, const std::string& arguments, int status = 0) {
  const program::Outcome outcome = program::run(arguments + " --quiet --plot " + scratch.path("p.gp"));
  if (outcome.status != status)
    throw std::runtime_error("status " + std::to_string(outcome.status) + ": " + outcome.out);
  return scratch.read("p.gp");
}

// Returns the numbers of a data block.
inline Rows block(const std::string& text, const std::string& name) {
  const std::string start = "$" + name + " << EOD\n";
  const std::size_t from = text.find(start), to = text.find("EOD\n", from + start.size());
  if (from == std::string::npos) throw std::runtime_error("no block " + name);
  std::istringstream lines(text.substr(from + start.size(), to - from - start.size()));
  Rows rows;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    std::vector<double> row;
    for (std::string word; words >> word;) row.push_back(word == "NaN" ? std::nan("") : std::stod(word));
    rows.push_back(row);
  }
  return rows;
}

}  // namespace script
