// Counts texts, such as the messages of many fits, by kind.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace nlsq::cli {

// Holds texts that differ in numbers alone.
struct TextKind {
  std::size_t first = 0, count = 0;  // the key of the first such text, and how many there are
};
// Returns the kinds of these texts, the most frequent one first.
std::vector<TextKind> text_kinds(const std::map<std::size_t, std::string>& texts);

}  // namespace nlsq::cli
