// Errors a caller can cause. Each message names the value in question and what would mend it.
// Numerical outcomes are not errors: they are a Termination in the Summary.
#pragma once

#include <nlsq/export.hpp>
#include <nlsq/format.hpp>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

// Base of every error the library throws on its own account.
class NLSQ_API Error : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

// One rule broken, in parts.
struct NLSQ_API Violation {
  std::string field;            // "gram", "imu.residual", "threshold.epsilon_j"
  std::string value;            // as given: "bf16"; empty where the field itself is at fault
  std::string reason;           // why not, and what to give instead
  std::string message() const;  // "gram=bf16: ..."
  bool operator==(const Violation&) const = default;
};

// An option, a policy or an argument breaks a rule. All violations found are listed.
class NLSQ_API ValidationError : public Error {
 public:
  explicit ValidationError(std::string message);
  explicit ValidationError(std::vector<std::string> violations);
  explicit ValidationError(std::vector<Violation> violations);
  const std::vector<std::string>& violations() const noexcept { return violations_; }
  // The violations in parts, where they have parts: those of a precision policy.
  const std::vector<Violation>& details() const noexcept { return details_; }

 private:
  std::vector<std::string> violations_;
  std::vector<Violation> details_;
};

// Numbers that cannot be stored in a format as asked. `index` counts values from 0; npos where no one
// value is at fault.
class NLSQ_API ConversionError : public Error {
 public:
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);
  explicit ConversionError(const std::string& message, Format to, std::size_t index = npos);
  Format to() const noexcept { return to_; }
  std::size_t index() const noexcept { return index_; }

 private:
  Format to_;
  std::size_t index_;
};

// A formula does not parse. `column` counts bytes from 0; `what()` shows the formula with a caret.
class NLSQ_API FormulaError : public Error {
 public:
  FormulaError(const std::string& message, const std::string& formula, std::size_t column);
  std::size_t column() const noexcept { return column_; }

 private:
  std::size_t column_;
};

// Data that cannot be fitted: sizes that disagree, NaN, Inf, sigma <= 0. `row` and `column` count
// from 0; npos where the fault is not in one place.
class NLSQ_API DataError : public Error {
 public:
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);
  explicit DataError(const std::string& message, std::size_t row = npos, std::size_t column = npos);
  std::size_t row() const noexcept { return row_; }
  std::size_t column() const noexcept { return column_; }

 private:
  std::size_t row_;
  std::size_t column_;
};

}  // namespace nlsq::inline v0
