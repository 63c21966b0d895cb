// Reads the fenced blocks of Markdown in the documents. Their language says what is done with them:
//   sh       run as a script
//   console  lines "$ command" are run, what follows each is what it must print
//   cpp      compiled and run (snippets.cmake)
//   cmake, text   shown only
#pragma once

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace documents {

struct Block {
  std::string language, text;
  int line = 0;  // of the opening fence, from 1
};

inline std::vector<std::filesystem::path> list() {
  const std::filesystem::path root = NLSQ_SOURCE_DIR;
  std::vector<std::filesystem::path> files;
  for (const auto& directory : {root, root / "docs", root / "data", root / "bench"}) {
    for (const auto& entry : std::filesystem::directory_iterator(directory))
      if (entry.path().extension() == ".md") files.push_back(entry.path());
  }
  return files;
}

inline std::vector<std::string> lines(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::vector<std::string> result;
  for (std::string line; std::getline(stream, line);) result.push_back(line);
  return result;
}

inline std::vector<Block> blocks(const std::filesystem::path& file) {
  std::vector<Block> result;
  bool inside = false;
  int number = 0;
  for (const std::string& line : lines(file)) {
    ++number;
    if (line.starts_with("```")) {
      if (!inside) result.push_back({line.substr(3), "", number});
      inside = !inside;
    } else if (inside) {
      result.back().text += line + "\n";
    }
  }
  if (inside) throw std::runtime_error(file.string() + ": a block is not closed");
  return result;
}

}  // namespace documents
