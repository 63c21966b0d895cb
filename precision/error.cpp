// Writes the texts of the library's exceptions.
#include <nlsq/error.hpp>

#include <fmt/format.h>

namespace nlsq::inline v0 {

namespace {

std::string join(const std::vector<std::string>& lines) { return fmt::format("{}", fmt::join(lines, "\n")); }

std::vector<std::string> messages(const std::vector<Violation>& violations) {
  std::vector<std::string> lines;
  for (const Violation& v : violations) lines.push_back(v.message());
  return lines;
}

// Appends the formula with a caret under `column`. If the formula is long, only the part around the caret is
// shown.
std::string with_caret(const std::string& message, const std::string& formula, std::size_t column) {
  constexpr std::size_t kBefore = 40, kAfter = 30;
  const std::size_t begin = column > kBefore ? column - kBefore : 0;
  const std::size_t end = column + kAfter < formula.size() ? column + kAfter : formula.size();
  std::string shown = formula.substr(begin, end - begin);
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  const std::string lead = begin > 0 ? "..." : "";
  return fmt::format("{} (column {})\n  {}{}{}\n  {}^", message, column + 1, lead, shown,
                     end < formula.size() ? "..." : "", std::string(lead.size() + column - begin, ' '));
}

}  // namespace

std::string Violation::message() const {
  if (field.empty()) return reason;
  return value.empty() ? fmt::format("{}: {}", field, reason)
                       : fmt::format("{}={}: {}", field, value, reason);
}

ValidationError::ValidationError(std::string message) : Error(message), violations_{std::move(message)} {}

ValidationError::ValidationError(std::vector<std::string> violations)
    : Error(join(violations)), violations_(std::move(violations)) {}

ValidationError::ValidationError(std::vector<Violation> violations) : ValidationError(messages(violations)) {
  details_ = std::move(violations);
}

ConversionError::ConversionError(const std::string& message, Format to, std::size_t index)
    : Error(message), to_(to), index_(index) {}

FormulaError::FormulaError(const std::string& message, const std::string& formula, std::size_t column)
    : Error(with_caret(message, formula, column)), column_(column) {}

DataError::DataError(const std::string& message, std::size_t row, std::size_t column)
    : Error(message), row_(row), column_(column) {}

}  // namespace nlsq::inline v0
