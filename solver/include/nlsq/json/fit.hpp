// The parts of results as JSON, which nlsq-fit --json and the C interface have in common. Programs depend on
// the keys: add keys freely, but rename none. Numbers that are not finite are null.
#pragma once

#include <nlsq/curve_fit.hpp>
#include <nlsq/export.hpp>
#include <nlsq/json/writer.hpp>
#include <nlsq/summary.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

// Returns the word for "status". The library's name(Termination) is for people.
NLSQ_API const char* status_word(Termination termination) noexcept;

// Writes a member that is a matrix of n x n numbers, which entry(i, j) returns.
void matrix_json(JsonWriter& json, std::string_view key, std::size_t n, auto entry) {
  json.key(key);
  json.begin_array();
  for (std::size_t i = 0; i < n; ++i) {
    json.begin_array();
    for (std::size_t j = 0; j < n; ++j) json.value(static_cast<double>(entry(i, j)));
    json.end_array();
  }
  json.end_array();
}

// Each of the following writes the members that it names to an object that is open.

// "parameters", "covariance" and "correlation". interval(j) returns the confidence interval of parameter j.
NLSQ_API void parameters_json(JsonWriter& json, const FitResult& fit,
                              const std::function<std::pair<double, double>(std::size_t)>& interval);
// "dof", "rss", "chi2_reduced", "p_value", "r_squared", "aic", "aicc" and "bic".
NLSQ_API void statistics_json(JsonWriter& json, const FitResult& fit, bool absolute_sigma);
// "status", "verdict", "success" and "message".
NLSQ_API void outcome_json(JsonWriter& json, const Summary& summary);
// "loss".
NLSQ_API void loss_json(JsonWriter& json, const FitResult& fit);
// "minima", if there are any.
NLSQ_API void minima_json(JsonWriter& json, const std::vector<FitMinimum>& minima);
// "certificate", "precision", "evaluator", "kernel", "threads" and "peak_bytes". `free` has the names of the
// free parameters.
NLSQ_API void summary_json(JsonWriter& json, const Summary& summary, const std::vector<std::string>& free);

// Returns the names of the parameters that are neither fixed nor tied.
NLSQ_API std::vector<std::string> free_names(const FitResult& fit);

// Returns the built-in models as an array of objects.
NLSQ_API std::string builtin_models_json();

}  // namespace nlsq::inline v0
