// Takes any bytes as calls of the C interface: options by name and text, starting values, tapes, and every
// function that takes a tape. The fuzzer and a test with random bytes use it. Every call must return a
// documented status, and NLSQ_ERROR_INTERNAL is none of them.
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
  // Returns up to 40 bytes, until a zero.
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
  static constexpr std::array kNames = {"xtol",
                                        "gtol",
                                        "ftol",
                                        "tau",
                                        "max_iterations",
                                        "strategy",
                                        "geodesic",
                                        "nonmonotonic",
                                        "initial_lambda",
                                        "precision",
                                        "rule",
                                        "strict",
                                        "sampling",
                                        "threads",
                                        "loss",
                                        "f_scale",
                                        "starts",
                                        "seed",
                                        "bounds",
                                        "fix",
                                        "tie",
                                        "confidence",
                                        "residuals",
                                        "variable_projection",
                                        "absolute_sigma",
                                        "in_lanes",
                                        "step_solver",
                                        "recheck_tolerance",
                                        "differences",
                                        "eta",
                                        "preconditioner"};
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

// Holds the rows that every model of this file is fitted to.
struct FuzzRows {
  static constexpr std::size_t kRows = 12;
  std::array<double, kRows> x{}, y{};
  std::array<nlsq_column, 3> columns{};
  nlsq_column of_y{};

  FuzzRows() {
    for (std::size_t i = 0; i < kRows; ++i) {
      x[i] = 0.25 * static_cast<double>(i);
      y[i] = 1 + static_cast<double>(i * i % 7);
    }
    const nlsq_column of_x = nlsq_column_of(x.data(), kRows);
    of_y = nlsq_column_of(y.data(), kRows);
    columns = {of_x, of_y, of_x};
  }
};

// Makes a few passes of a fit from sums, with these options and without.
inline void drive_sums(const nlsq_model* model, const FuzzRows& rows, const double* p,
                       const nlsq_options* options) {
  std::size_t n = 0, predictors = 0;
  if (nlsq_model_size(model, &n, &predictors) != NLSQ_OK) return;
  for (const nlsq_options* set : {options, static_cast<const nlsq_options*>(nullptr)}) {
    std::vector<double> points(p, p + n), sums, next(n), pass(nlsq_sums_size(n));
    nlsq_result* result = nullptr;
    for (std::size_t k = 1; k <= 6 && result == nullptr; ++k) {
      const int status =
          nlsq_model_sums(model, rows.columns.data(), 3, &rows.of_y, &points[(k - 1) * n], set, pass.data());
      documented(status);
      if (status != NLSQ_OK) break;
      sums.insert(sums.end(), pass.begin(), pass.end());
      const int solved = nlsq_solve_sums(points.data(), sums.data(), k, n, set, next.data(), &result);
      documented(solved);
      if (solved != NLSQ_OK) break;
      points.insert(points.end(), next.begin(), next.end());
    }
    documented(nlsq_result_free(result));
  }
}

// Fits a model once and in a batch, predicts by the result, and evaluates.
inline void drive_model(nlsq_model* model, const FuzzRows& rows, const double* p,
                        const nlsq_options* options) {
  nlsq_result *result = nullptr, *other = nullptr;
  // A tie may leave fewer starting values than parameters, so a fit may be refused; it must not fail in
  // another way.
  documented(nlsq_model_fit(model, rows.columns.data(), 3, &rows.of_y, p, options, &result));
  if (result != nullptr) {
    if (nlsq_result_json(result) == nullptr || nlsq_result_report(result) == nullptr) std::abort();
    documented(nlsq_model_predict(model, rows.columns.data(), 3, result, options, &other));
    documented(nlsq_result_free(other));
    documented(nlsq_model_profile_intervals(model, rows.columns.data(), 3, &rows.of_y, result, nullptr, 0.5,
                                            options, &other));
    documented(nlsq_result_free(other));
    documented(nlsq_model_bootstrap(model, rows.columns.data(), 3, &rows.of_y, result, 3, 1, nullptr,
                                    "u = 2*a", 0.5, options, &other));
    documented(nlsq_result_free(other));
    documented(nlsq_result_derive(result, "u = 2*a\nv = u/b", 0.5, &other));
    documented(nlsq_result_free(other));
  }
  documented(nlsq_result_free(result));
  documented(nlsq_model_certify(model, rows.columns.data(), 3, &rows.of_y, p, options, &result));
  documented(nlsq_result_free(result));
  drive_sums(model, rows, p, options);
  std::array<nlsq_batch_column, 3> batch{};
  for (std::size_t k = 0; k < 3; ++k) batch[k] = {rows.columns[k], 0};
  const nlsq_batch_column of_y{nlsq_column_of(rows.y.data(), FuzzRows::kRows - 1), sizeof(double)};
  for (auto& column : batch) column.column.count -= 1;
  documented(
      nlsq_model_fit_batch(model, batch.data(), 3, &of_y, nullptr, nullptr, 2, p, 1, options, &result));
  documented(nlsq_result_free(result));
  std::array<double, FuzzRows::kRows> values{};
  std::array<double, FuzzRows::kRows * 4> jacobian{};
  documented(nlsq_model_evaluate(model, rows.columns.data(), 3, FuzzRows::kRows, p, options, values.data(),
                                 jacobian.data()));
  documented(nlsq_model_evaluate(model, rows.columns.data(), 3, FuzzRows::kRows, p, options, values.data(),
                                 nullptr));
  int agrees = 0;
  documented(nlsq_model_agrees(model, rows.columns.data(), 3, FuzzRows::kRows, p, values.data(), 1e-9, 1e-12,
                               &agrees));
}

// Uses the tape as twelve residual blocks on two blocks of parameters, with a loss and a manifold by any
// text.
inline void drive_problem(Bytes& bytes, const nlsq_tape* tape, const FuzzRows& rows, double* p,
                          const nlsq_options* options) {
  nlsq_problem* problem = nullptr;
  nlsq_result* result = nullptr;
  documented(nlsq_problem_new(&problem));
  documented(nlsq_problem_add_parameters(problem, p, 3));
  documented(nlsq_problem_add_parameters(problem, p + 3, 1));
  documented(nlsq_problem_set_manifold(problem, p, bytes.text().c_str()));
  documented(nlsq_problem_set_constant(problem, p + 3, static_cast<int>(bytes.next() % 2)));
  std::array<double*, 2 * FuzzRows::kRows> blocks{};
  for (std::size_t i = 0; i < FuzzRows::kRows; ++i) {
    blocks[2 * i] = p;
    blocks[2 * i + 1] = p + 3;
  }
  const std::string loss = bytes.next() % 2 ? "huber" : bytes.text();
  documented(nlsq_problem_add_tape(problem, tape, rows.columns.data(), 3, FuzzRows::kRows, loss.c_str(), 1.0,
                                   blocks.data(), 2));
  double cost = 0;
  documented(nlsq_problem_evaluate(problem, &cost, nullptr, 0));
  documented(nlsq_problem_solve(problem, options, &result));
  if (result != nullptr && nlsq_result_json(result) == nullptr) std::abort();
  documented(nlsq_result_free(result));
  std::array<double, 16> covariance{};
  documented(nlsq_problem_covariance(problem, blocks.data(), 2, covariance.data(), 16));
  documented(nlsq_problem_free(problem));
}

inline void drive_c_interface(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  const FuzzRows rows;
  nlsq_options* options = nullptr;
  nlsq_tape* tape = nullptr;
  nlsq_model* model = nullptr;
  nlsq_result* result = nullptr;
  documented(nlsq_options_new(&options));
  drive_options(bytes, options);
  documented(nlsq_options_set(options, "max_iterations", "20"));
  documented(nlsq_tape_new(&tape));
  drive_tape(bytes, tape);
  std::array<double, 4> p{1, 0.5, 2, -1}, columns{1, 2, 3, 4}, outputs{};
  documented(nlsq_tape_evaluate(tape, columns.data(), 3, p.data(), 4, outputs.data(), 4));
  if (nlsq_model_tape(tape, 3, 4, nullptr, &model) == NLSQ_OK) drive_model(model, rows, p.data(), options);
  documented(nlsq_model_free(model));
  const std::string starts = bytes.text();
  documented(
      nlsq_curve_fit("p0*x1 + p1", rows.columns.data(), 3, &rows.of_y, starts.c_str(), options, &result));
  documented(nlsq_result_free(result));
  drive_problem(bytes, tape, rows, p.data(), options);
  documented(nlsq_tape_free(tape));
  documented(nlsq_options_free(options));
}

}  // namespace nlsq_test
