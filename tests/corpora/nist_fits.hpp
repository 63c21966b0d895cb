// Fits NIST's 54 runs (27 sets from two starts) with the library and scores them.
#pragma once

#include <nlsq/nlsq.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "nist.hpp"

namespace nist {

inline nlsq::Formula parsed(const Set& set) {
  nlsq::FormulaOptions options;
  options.predictors = set.predictors;
  return nlsq::parse_formula(set.equation(), options);
}

inline nlsq::FitResult fit(const Set& set, const std::vector<double>& start,
                           const nlsq::FitOptions& options) {
  nlsq::NamedValues p0;
  for (std::size_t j = 0; j < set.parameters.size(); ++j) p0.emplace_back(set.parameters[j], start[j]);
  const std::vector<nlsq::Column> x(set.x.begin(), set.x.end());
  return nlsq::curve_fit(parsed(set), x, set.y, p0, options);
}

// Holds the smallest number of correct digits of the parameters, and of their standard errors.
struct Digits {
  double values = 11, errors = 11;
};

// Returns which of the fit's parameters stands for each of the set's. Lanczos's models are sums of three
// exponentials. Their terms may be exchanged without changing the model, so they are taken in the order of
// their rates, as the certified ones are.
inline std::vector<std::size_t> places(const Set& set, const nlsq::FitResult& fit) {
  std::vector<std::size_t> out;
  for (const std::string& name : set.parameters) {
    const auto& names = fit.parameter_names;
    out.push_back(static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin()));
  }
  if (!set.name.starts_with("Lanczos")) return out;
  std::vector<std::pair<std::size_t, std::size_t>> terms;  // amplitude, rate
  for (std::size_t j = 0; j < out.size(); j += 2) terms.emplace_back(out[j], out[j + 1]);
  std::ranges::sort(terms, {}, [&](const auto& term) { return fit.parameters.at(term.second); });
  out.clear();
  for (const auto& [amplitude, rate] : terms) out.insert(out.end(), {amplitude, rate});
  return out;
}

// Standard errors are scaled back to those of single rows. `copies` says how often each row was repeated.
inline Digits digits(const Set& set, const nlsq::FitResult& fit, double copies = 1) {
  Digits out;
  const double n = static_cast<double>(set.parameters.size()), m = static_cast<double>(set.rows()) * copies;
  const double single = std::sqrt((m - n) / (m / copies - n));
  const std::vector<std::size_t> place = places(set, fit);
  for (std::size_t j = 0; j < set.parameters.size(); ++j) {
    out.values = std::min(out.values, lre(fit.parameters.at(place[j]), set.certified[j]));
    out.errors =
        std::min(out.errors, lre(fit.standard_errors[place[j]] * single, set.certified_std_error[j]));
  }
  return out;
}

// The totals of the 54 runs. The standard errors of Lanczos1 do not count: its residuals are smaller than its
// eleven printed digits determine.
struct Score {
  int runs = 0, passed = 0;
  double values = 0, worst = 11, errors = 0;
  int error_runs = 0;

  void add(const Set& set, const Digits& d) {
    ++runs;
    passed += d.values >= 4;
    values += d.values;
    worst = std::min(worst, d.values);
    if (set.name == "Lanczos1") return;
    errors += d.errors;
    ++error_runs;
  }
  double mean() const { return values / runs; }
  double mean_errors() const { return errors / error_runs; }
  void print(const std::string& title) const {
    fmt::print("{:<24} {:>2}/{} with 4 digits, mean {:.2f}, worst {:.2f}, standard errors {:.2f}\n", title,
               passed, runs, mean(), worst, mean_errors());
  }
};

}  // namespace nist
