// Pieces of policy and rule texts.
#pragma once

#include <nlsq/part_formats.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nlsq::inline v0 {

std::string_view trimmed(std::string_view text);

// The pieces between separators, trimmed; what stands in braces stays together. At least one, perhaps empty.
std::vector<std::string_view> split(std::string_view text, char separator);

// "key = value" in two; nothing where there is no '='.
struct Assignment {
  std::string_view key, value;
};
std::optional<Assignment> assignment(std::string_view text);

// The part of this name; null where there is none.
std::optional<Format>* part_named(FormatChange& change, std::string_view name);

// Sets `format` from text; returns what is wrong, or nothing. `field`: the name to report.
std::optional<Violation> set_format(std::optional<Format>& format, const std::string& field,
                                    std::string_view text);

// A finite number, all of `text`.
std::optional<double> number(std::string_view text);

}  // namespace nlsq::inline v0
