// Helpers that split and read the texts of policies and rules. The parsers of both use them.
#pragma once

#include <nlsq/part_formats.hpp>
#include <nlsq/precision_policy.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nlsq::inline v0 {

// Holds a policy while its text is parsed: a base policy, and the changes that the text names.
// policy_parse.cpp fills it.
struct PolicyDraft {
  PrecisionPolicy base;
  FormatChange formats;
  FormatChange floor;  // only jacobian and gram
  FormatChange ceiling;

  // Returns the base with the named parts set and the other parts adjusted to them.
  PrecisionPolicy policy() const;
};

std::string_view trimmed(std::string_view text);

// Splits text at separators outside braces and trims the pieces. Returns at least one piece, which may be
// empty.
std::vector<std::string_view> split(std::string_view text, char separator);

// Splits "key = value" in two. Returns nothing if there is no '='.
struct Assignment {
  std::string_view key, value;
};
std::optional<Assignment> assignment(std::string_view text);

// Calls f(name, format) for each of the four parts of a change.
void for_each_part(auto& change, const auto& f) {
  f("residual", change.residual);
  f("jacobian", change.jacobian);
  f("gram", change.gram);
  f("solve", change.solve);
}

// Returns the parts that the change names, each with its format and a prefix, such as
// "imu.residual=f32,imu.gram=f64".
std::string to_string(const FormatChange& change, std::string_view prefix);

// Returns the part with this name, or null if there is none.
std::optional<Format>* part_named(FormatChange& change, std::string_view name);

// Sets `format` from text. Returns the violation, or nothing. `field` is the name that the violation reports.
std::optional<Violation> set_format(std::optional<Format>& format, const std::string& field,
                                    std::string_view text);

// Parses all of `text` as a finite number.
std::optional<double> number(std::string_view text);

}  // namespace nlsq::inline v0
