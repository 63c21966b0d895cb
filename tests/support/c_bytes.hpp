// Any bytes as calls of the C interface: options by name and text, starting values, tapes. The fuzzer and a
// test with random bytes use it. Every call must return a documented status, and NLSQ_ERROR_INTERNAL is none
// of them.
#pragma once

#include <nlsq/nlsq.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace nlsq_test {

class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  bool empty() const { return at_ >= size_; }
  unsigned next() { return empty() ? 0u : data_[at_++]; }
  // Up to 40 bytes, until a zero.
  std::string text() {
    std::string out;
    while (!empty() && out.size() < 40) {
      const char c = static_cast<char>(next());
      if (c == 0) break;
      out += c;
    }
    return out;
  }
  double number() {
    std::array<std::uint8_t, 8> raw{};
    for (auto& byte : raw) byte = static_cast<std::uint8_t>(next());
    double value = 0;
    std::memcpy(&value, raw.data(), 8);
    return value;
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_, at_ = 0;
};

inline void documented(int status) {
  if (status < NLSQ_OK || status >= NLSQ_ERROR_INTERNAL) std::abort();
}

inline void drive_options(Bytes& bytes, nlsq_options* options) {
  static constexpr std::array kNames = {"xtol",    "precision", "rule",   "loss",       "f_scale",
                                        "bounds",  "fix",       "tie",    "starts",     "seed",
                                        "threads", "strategy",  "strict", "confidence", "nonmonotonic"};
  for (unsigned count = bytes.next() % 5; count > 0; --count) {
    const unsigned which = bytes.next();
    const std::string name = which % 4 == 3 ? bytes.text() : kNames[which % kNames.size()];
    if (which % 8 == 1) documented(nlsq_options_set_number(options, name.c_str(), bytes.number()));
    else documented(nlsq_options_set(options, name.c_str(), bytes.text().c_str()));
  }
}

inline void drive_tape(Bytes& bytes, nlsq_tape* tape) {
  static constexpr std::array kOperations = {
      "+",     "-",   "*",     "/",     "^",    "<",       ">",     ">=",   "==",    "&&",     "!",
      "exp",   "log", "sqrt",  "sin",   "abs",  "min",     "max",   "if",   "mod",   "voigt",  "pow",
      "hypot", "erf", "gamma", "floor", "fmod", "wofz_re", "atan2", "tanh", "besj0", "digamma"};
  int node = 0;
  for (unsigned count = bytes.next() % 40; count > 0; --count) {
    const unsigned what = bytes.next();
    if (what < 32) documented(nlsq_tape_constant(tape, bytes.number(), &node));
    else if (what < 64) documented(nlsq_tape_column(tape, bytes.next() % 3, &node));
    else if (what < 96) documented(nlsq_tape_parameter(tape, bytes.next() % 4, &node));
    else if (what == 96) documented(nlsq_tape_output(tape, static_cast<int>(bytes.next()) - 4));
    else {
      std::array<int, 4> operands{};
      for (int& operand : operands) operand = static_cast<int>(bytes.next()) % 48 - 1;
      const std::string name = what == 97 ? bytes.text() : kOperations[what % kOperations.size()];
      documented(nlsq_tape_operation(tape, name.c_str(), operands.data(), what / 64, &node));
    }
  }
  documented(nlsq_tape_output(tape, node));
}

inline void drive_c_interface(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  nlsq_options* options = nullptr;
  nlsq_tape* tape = nullptr;
  nlsq_model* model = nullptr;
  nlsq_result* result = nullptr;
  documented(nlsq_options_new(&options));
  documented(nlsq_options_set(options, "max_iterations", "20"));
  documented(nlsq_tape_new(&tape));
  drive_options(bytes, options);
  drive_tape(bytes, tape);
  std::array<double, 4> p{1, 0.5, 2, -1}, columns{1, 2, 3, 4}, outputs{};
  documented(nlsq_tape_evaluate(tape, columns.data(), 3, p.data(), 4, outputs.data(), 4));
  const bool made = nlsq_model_tape(tape, 3, 4, nullptr, &model) == NLSQ_OK;
  std::array<double, 12> x{}, y{};
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = 0.25 * static_cast<double>(i);
    y[i] = 1 + static_cast<double>(i * i % 7);
  }
  const nlsq_column c = nlsq_column_of(x.data(), 12), cy = nlsq_column_of(y.data(), 12);
  const std::array<nlsq_column, 3> cx{c, cy, c};
  // A tie may leave fewer starting values than parameters, so a fit may be refused; it must not fail in
  // another way.
  if (made) documented(nlsq_model_fit(model, cx.data(), 3, &cy, p.data(), options, &result));
  if (result != nullptr && nlsq_result_json(result) == nullptr) std::abort();
  documented(nlsq_result_free(result));
  const std::string starts = bytes.text();
  documented(nlsq_curve_fit("p0*x1 + p1", cx.data(), 3, &cy, starts.c_str(), options, &result));
  documented(nlsq_result_free(result));
  documented(nlsq_model_free(model));
  documented(nlsq_tape_free(tape));
  documented(nlsq_options_free(options));
}

}  // namespace nlsq_test
