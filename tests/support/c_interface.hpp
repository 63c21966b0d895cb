// Defines data and models for the tests of the C interface.
#pragma once

#include <nlsq/nlsq.h>

#include <cmath>
#include <string>
#include <thread>
#include <vector>

namespace nlsq_test {

// Holds y = 3 exp(-1.3 x) + 0.7 with a small fixed disturbance.
struct Decay {
  std::vector<double> x, y;
  explicit Decay(int rows = 100) {
    for (int i = 0; i < rows; ++i) {
      x.push_back(5.0 * i / rows);
      y.push_back(3 * std::exp(-1.3 * x.back()) + 0.7 + 0.01 * std::sin(37.0 * i));
    }
  }
  nlsq_column cx() const { return nlsq_column_of(x.data(), x.size()); }
  nlsq_column cy() const { return nlsq_column_of(y.data(), y.size()); }
};
inline const char* const kDecayFormula = "a*exp(-b*x)+c";

// Computes the same model as a callback. It adds `error` to row 7, and returns `code`.
struct DecayCallback {
  const Decay* data;
  double error = 0;
  int code = 0, calls = 0, jacobians = 0, elsewhere = 0;
  std::thread::id thread = std::this_thread::get_id();
  static int call(const double* p, double* y, double* jacobian, void* user) {
    auto& self = *static_cast<DecayCallback*>(user);
    ++self.calls;
    if (std::this_thread::get_id() != self.thread) ++self.elsewhere;
    if (jacobian != nullptr) ++self.jacobians;
    for (std::size_t i = 0; i < self.data->x.size(); ++i) {
      const double x = self.data->x[i], e = std::exp(-p[1] * x);
      y[i] = p[0] * e + p[2];
      if (jacobian == nullptr) continue;
      jacobian[3 * i] = e;
      jacobian[3 * i + 1] = -p[0] * x * e;
      jacobian[3 * i + 2] = 1;
    }
    y[7] += self.error;
    return self.code;
  }
};

inline int operation(nlsq_tape* tape, const char* name, std::vector<int> operands) {
  int node = -1;
  return nlsq_tape_operation(tape, name, operands.data(), operands.size(), &node) == NLSQ_OK ? node : -1;
}
inline int parameter(nlsq_tape* tape, std::size_t index) {
  int node = -1;
  nlsq_tape_parameter(tape, index, &node);
  return node;
}
inline int column(nlsq_tape* tape, std::size_t index) {
  int node = -1;
  nlsq_tape_column(tape, index, &node);
  return node;
}

// Adds p0*exp(-p1*x) + p2 to a tape, without output.
inline int decay_nodes(nlsq_tape* tape) {
  const int product = operation(tape, "*", {parameter(tape, 1), column(tape, 0)});
  const int term =
      operation(tape, "*", {parameter(tape, 0), operation(tape, "exp", {operation(tape, "-", {product})})});
  return operation(tape, "+", {term, parameter(tape, 2)});
}

inline double number(const nlsq_result* result, const char* name) {
  double value = std::nan("");
  return nlsq_result_number(result, name, &value) == NLSQ_OK ? value : std::nan("");
}
inline std::vector<double> array(const nlsq_result* result, const char* name) {
  const double* data = nullptr;
  std::size_t rows = 0, columns = 0;
  if (nlsq_result_array(result, name, &data, &rows, &columns) != NLSQ_OK) return {};
  return {data, data + rows * columns};
}
inline std::string text(const nlsq_result* result, const char* name) {
  const char* value = nullptr;
  return nlsq_result_text(result, name, &value) == NLSQ_OK ? value : "?";
}
inline bool error_has(const char* part) {
  return std::string(nlsq_last_error()).find(part) != std::string::npos;
}

}  // namespace nlsq_test
