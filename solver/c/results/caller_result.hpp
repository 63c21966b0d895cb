// Declares the result behind a handle nlsq_result, with its numbers, texts and arrays by name, and its JSON.
#pragma once

#include "c/handles.hpp"

#include <nlsq/c/result.h>
#include <nlsq/curve_fit.hpp>
#include <nlsq/curve_fit_batch.hpp>
#include <nlsq/least_squares.hpp>
#include <nlsq/prediction.hpp>

#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nlsq::inline v0::c {

// Holds rows x columns numbers: `values`, or numbers that the result itself holds.
struct Array {
  std::vector<double> values;
  std::size_t rows = 0, columns = 1;
  const double* held = nullptr;
  std::span<const double> numbers() const { return {held != nullptr ? held : values.data(), rows * columns}; }
};
Array column_array(std::vector<double> values);
Array matrix_array(const Matrix& matrix);
// These copy nothing. The numbers must not move during the lifetime of the result.
Array held_column(const std::vector<double>& values);
Array held_matrix(const Matrix& matrix);

class Result;

// Holds the names that results of one kind have, each with the rule for its value.
struct Contents {
  std::map<std::string_view, std::function<double(const Result&)>> numbers;
  std::map<std::string_view, std::function<std::string(const Result&)>> texts;
  std::map<std::string_view, std::function<Array(const Result&)>> arrays;
};

// Keeps the texts and arrays that were requested, so that pointers to them stay valid. Several threads may
// read one result.
class Result : public Object {
 public:
  static constexpr Kind kKind = Kind::result;
  Result() : Object(kKind) {}

  // These throw ArgumentError for an unknown name, with a list of the known ones.
  double number(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  const Array& array(std::string_view name) const;
  // Copies numbers and arrays, whose names have a space between them. Throws ArgumentError if they are not
  // out.size() numbers.
  void values(std::string_view names, std::span<double> out) const;
  const std::string& json() const;
  const std::string& report() const;

  // Returns null for a batch and a prediction.
  virtual const Summary* summary() const { return nullptr; }

 private:
  virtual const Contents& contents() const = 0;
  virtual std::string make_json() const = 0;
  virtual std::string make_report() const = 0;

  mutable std::mutex mutex_;
  mutable std::map<std::string_view, std::string> texts_;
  mutable std::map<std::string_view, Array> arrays_;
  mutable std::string json_, report_;
};

struct CurveResult final : Result {
  FitResult fit;
  std::string model, formula;
  std::vector<std::string> predictors;
  double confidence = 0.95;
  bool has_residuals = false;
  std::vector<double> fitted, residuals;
  // For predictions: the sigmas of the data of the fit. It is empty without sigma, has one entry if all
  // sigmas are equal, and two if they differ.
  std::vector<double> sigmas;
  FitOptions options;  // without columns and bounds
  std::pair<double, double> interval(std::size_t j) const;
  const Summary* summary() const override { return &fit.summary; }

 private:
  const Contents& contents() const override;
  std::string make_json() const override;
  std::string make_report() const override;
};

struct SolveResult final : Result {
  LeastSquaresResult solved;
  std::size_t rows = 0;
  Matrix jacobian;
  const Summary* summary() const override { return &solved.summary; }

 private:
  const Contents& contents() const override;
  std::string make_json() const override;
  std::string make_report() const override;
};

struct ProblemResult final : Result {
  Summary solved;
  const Summary* summary() const override { return &solved; }

 private:
  const Contents& contents() const override;
  std::string make_json() const override;
  std::string make_report() const override;
};

struct ManyResult final : Result {
  BatchResult batch;
  std::vector<std::string> warnings;  // about single fits
  bool masked = false;                // rows in messages are counted without those that the mask leaves out
  // Returns why fit `fit` has no success; empty if it has.
  std::string message(std::size_t fit) const;

 private:
  const Contents& contents() const override;
  std::string make_json() const override;
  std::string make_report() const override;
};

struct PredictionResult final : Result {
  Prediction prediction;

 private:
  const Contents& contents() const override;
  std::string make_json() const override;
  std::string make_report() const override;
};

// Makes a function of any result from a function of results of the type R.
template <class R, class F>
auto getter(F rule) {
  return [rule](const Result& result) { return rule(static_cast<const R&>(result)); };
}
// Returns the names of every result with a summary (result_contents.cpp).
Contents summary_contents();
Array minima_array(const std::vector<FitMinimum>& minima);
std::string lines(const std::vector<std::string>& texts);

}  // namespace nlsq::inline v0::c
