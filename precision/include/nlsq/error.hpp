// Declares the exceptions of the library, for mistakes that a caller can make. Each message names the wrong
// value and says how to correct it. A numerical outcome is not an error: the Summary reports it as a
// Termination.
#pragma once

#include <nlsq/export.hpp>
#include <nlsq/format.hpp>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

// Base class of every exception that the library itself throws.
class NLSQ_API Error : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

// One broken rule, split into field, value and reason.
struct NLSQ_API Violation {
  std::string field;            // "gram", "imu.residual", "threshold.epsilon_j"
  std::string value;            // as given: "bf16"; empty when the field itself is wrong
  std::string reason;           // why it is not allowed, and what to give instead
  std::string message() const;  // "gram=bf16: ..."
  bool operator==(const Violation&) const = default;
};

// Is thrown if an option, a policy or an argument breaks a rule. The exception lists every violation found.
class NLSQ_API ValidationError : public Error {
 public:
  explicit ValidationError(std::string message);
  explicit ValidationError(std::vector<std::string> violations);
  explicit ValidationError(std::vector<Violation> violations);
  const std::vector<std::string>& violations() const noexcept { return violations_; }
  // The same violations, split into their parts. Only a precision policy provides them; empty otherwise.
  const std::vector<Violation>& details() const noexcept { return details_; }

 private:
  std::vector<std::string> violations_;
  std::vector<Violation> details_;
};

// A number cannot be stored in the requested format. `index` is the position of the value, from 0. It is npos
// if no single value is wrong.
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

// A formula does not parse. `column` is a byte offset from 0; `what()` shows the formula with a caret.
class NLSQ_API FormulaError : public Error {
 public:
  FormulaError(const std::string& message, const std::string& formula, std::size_t column);
  std::size_t column() const noexcept { return column_; }

 private:
  std::size_t column_;
};

// The data cannot be fitted: sizes disagree, or there is a NaN, an infinity or a sigma <= 0. `row` and
// `column` count from 0. They are npos if the fault is not in one place.
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
