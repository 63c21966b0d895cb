// Reads an option whose value is one of a few words.
#pragma once

#include "errors.hpp"
#include "table/source/utf8.hpp"

#include <fmt/format.h>

#include <initializer_list>
#include <string>
#include <utility>

namespace nlsq::cli {

// Returns the value that the word `text` stands for. Throws UsageError that lists the choices.
template <class T>
T one_of(const std::string& option, const std::string& text,
         std::initializer_list<std::pair<const char*, T>> choices) {
  std::string names;
  for (const auto& [name, value] : choices) {
    if (text == name) return value;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  }
  throw UsageError(fmt::format("{} {}: must be one of {}", option, printable(text), names));
}

}  // namespace nlsq::cli
