// The names of the options of the C interface, and what each of them sets.
#include "c/caller_options.hpp"
#include "c/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <limits>

namespace nlsq::inline v0::c {

namespace {

// An option takes a number or a text.
struct Entry {
  std::string_view name;
  std::function<void(Options&, double)> number;
  std::function<void(Options&, std::string_view)> text = {};
};

[[noreturn]] void refuse(std::string_view name, std::string_view value, std::string_view allowed) {
  throw ValidationError(fmt::format("{} = {}: use {}", name, value.substr(0, 80), allowed));
}

// A number from `least` to `most` inclusive; NaN is outside.
Entry number(std::string_view name, double least, double most, std::function<void(Options&, double)> set) {
  return {name, [=](Options& o, double value) {
            if (!(value >= least && value <= most))
              refuse(name, fmt::format("{}", value), fmt::format("a number from {} to {}", least, most));
            set(o, value);
          }};
}

// A tolerance lies in [0, 1).
Entry tolerance(std::string_view name, std::function<void(Options&, double)> set) {
  return {name, [=](Options& o, double value) {
            if (!(value >= 0 && value < 1))
              refuse(name, fmt::format("{}", value), "a number from 0 up to, not including, 1");
            set(o, value);
          }};
}

Entry whole(std::string_view name, double least, double most, std::function<void(Options&, double)> set) {
  return {name, [=](Options& o, double value) {
            if (!(value >= least && value <= most) || value != std::floor(value))
              refuse(name, fmt::format("{}", value),
                     fmt::format("a whole number from {} to {}", least, most));
            set(o, value);
          }};
}

template <class T>
Entry word(std::string_view name, std::initializer_list<std::pair<std::string_view, T>> choices,
           std::function<void(Options&, T)> set) {
  std::vector<std::pair<std::string_view, T>> all(choices);
  return {name, {}, [=](Options& o, std::string_view text) {
            std::string names;
            for (const auto& [choice, value] : all) {
              if (text == choice) return set(o, value);
              names += fmt::format("{}{}", names.empty() ? "" : ", ", choice);
            }
            refuse(name, text, names);
          }};
}

Entry truth(std::string_view name, std::function<void(Options&, bool)> set) {
  Entry entry = word<bool>(
      name, {{"yes", true}, {"no", false}, {"true", true}, {"false", false}, {"on", true}, {"off", false}},
      set);
  entry.number = [=](Options& o, double value) {
    if (value != 0 && value != 1) refuse(name, fmt::format("{}", value), "0 or 1, yes or no");
    set(o, value != 0);
  };
  return entry;
}

Entry text(std::string_view name, std::function<void(Options&, std::string_view)> set) {
  return {name, {}, std::move(set)};
}

constexpr double kMost = std::numeric_limits<int>::max();
constexpr double kHuge = std::numeric_limits<double>::max();
const double kBelow1 = std::nextafter(1.0, 0.0);
constexpr double kLeast = std::numeric_limits<double>::min();

std::vector<Entry> solver_entries() {
  using enum Algorithm;
  return {
      tolerance("xtol", [](Options& o, double v) { o.fit.xtol = v; }),
      tolerance("gtol", [](Options& o, double v) { o.fit.gtol = v; }),
      tolerance("ftol", [](Options& o, double v) { o.fit.ftol = v; }),
      number("tau", 0, kHuge, [](Options& o, double v) { o.fit.tau = v; }),
      whole("max_iterations", 0, kMost,
            [](Options& o, double v) { o.fit.max_iterations = static_cast<int>(v); }),
      number("time_limit", 0, kHuge, [](Options& o, double v) { o.fit.max_seconds = v; }),
      word<Algorithm>(
          "strategy",
          {{"levenberg_marquardt", levenberg_marquardt}, {"gauss_newton", gauss_newton}, {"dogleg", dogleg}},
          [](Options& o, Algorithm v) { o.fit.algorithm = v; }),
      word<Geodesic>(
          "geodesic",
          {{"auto", Geodesic::automatic}, {"always", Geodesic::always}, {"never", Geodesic::never}},
          [](Options& o, Geodesic v) { o.fit.geodesic = v; }),
      whole("nonmonotonic", 0, 1e6,
            [](Options& o, double v) { o.fit.nonmonotonic_steps = static_cast<int>(v); }),
      number("initial_lambda", 1e-300, kHuge, [](Options& o, double v) { o.fit.initial_lambda = v; }),
      text("precision", [](Options& o, std::string_view v) { o.precision = PrecisionPolicy::parse(v); }),
      text("rule",
           [](Options& o, std::string_view v) {
             if (v.empty()) return o.rules.clear();
             o.rules.push_back(PrecisionRule::parse(v));
           }),
      truth("strict", [](Options& o, bool v) { o.fit.strict = v; }),
      word<Sampling>(
          "sampling",
          {{"auto", Sampling::automatic}, {"always", Sampling::always}, {"never", Sampling::never}},
          [](Options& o, Sampling v) { o.fit.sampling = v; }),
      whole("threads", 0, 4096, [](Options& o, double v) { o.fit.threads = static_cast<int>(v); }),
      word<StepSolver>("step_solver",
                       {{"auto", StepSolver::automatic},
                        {"factored", StepSolver::factored},
                        {"iterative", StepSolver::iterative}},
                       [](Options& o, StepSolver v) { o.fit.step_solver = v; }),
      word<Preconditioner>(
          "preconditioner",
          {{"jacobi", Preconditioner::jacobi}, {"schur_jacobi", Preconditioner::schur_jacobi}},
          [](Options& o, Preconditioner v) { o.fit.preconditioner = v; }),
      number("eta", kLeast, kBelow1, [](Options& o, double v) { o.fit.eta = v; }),
      whole("max_linear_iterations", 1, kMost,
            [](Options& o, double v) { o.fit.max_linear_iterations = static_cast<int>(v); }),
  };
}

std::vector<Entry> fit_entries() {
  return {
      text("loss",
           [](Options& o, std::string_view v) {
             Loss::named(v);
             o.loss = std::string(v);
           }),
      number("f_scale", kLeast, kHuge, [](Options& o, double v) { o.f_scale = v; }),
      whole("starts", 1, 1e6, [](Options& o, double v) { o.fit.starts = static_cast<int>(v); }),
      whole("seed", 0, 9007199254740992.0,
            [](Options& o, double v) { o.fit.seed = static_cast<std::uint64_t>(v); }),
      truth("absolute_sigma", [](Options& o, bool v) { o.fit.absolute_sigma = v; }),
      text("bounds",
           [](Options& o, std::string_view v) {
             if (trimmed(v).empty()) return o.bounds.clear();
             for (NamedBounds& one : parsed_bounds(v)) o.bounds.push_back(std::move(one));
           }),
      text("fix",
           [](Options& o, std::string_view v) {
             if (trimmed(v).empty()) return o.fixed.clear();
             for (auto& one : parsed_fixed(v)) o.fixed.push_back(std::move(one));
           }),
      text("tie",
           [](Options& o, std::string_view v) {
             if (trimmed(v).empty()) return o.fit.ties.clear();
             o.fit.ties.emplace_back(v);
           }),
      word<VariableProjection>("variable_projection",
                               {{"auto", VariableProjection::automatic},
                                {"on", VariableProjection::on},
                                {"off", VariableProjection::off}},
                               [](Options& o, VariableProjection v) { o.fit.variable_projection = v; }),
      truth("solve_linear_start", [](Options& o, bool v) { o.fit.solve_linear_start = v; }),
      number("confidence", kLeast, kBelow1, [](Options& o, double v) { o.confidence = v; }),
      truth("residuals", [](Options& o, bool v) { o.residuals = v; }),
      number("recheck_tolerance", 0, 1, [](Options& o, double v) { o.recheck_tolerance = v; }),
      truth("in_lanes", [](Options& o, bool v) { o.in_lanes = v; }),
      word<Differences>("differences", {{"central", Differences::central}, {"ridders", Differences::ridders}},
                        [](Options& o, Differences v) { o.differences = v; }),
  };
}

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = [] {
    std::vector<Entry> list = solver_entries();
    for (Entry& entry : fit_entries()) list.push_back(std::move(entry));
    return list;
  }();
  return all;
}

// Names are found with - in the place of _, too.
const Entry& entry_named(std::string_view name) {
  const auto same = [&](const Entry& entry) {
    return std::ranges::equal(name, entry.name,
                              [](char a, char b) { return a == b || (a == '-' && b == '_'); });
  };
  const auto found = std::ranges::find_if(entries(), same);
  if (found != entries().end()) return *found;
  std::string names;
  for (const Entry& entry : entries()) names += fmt::format("{}{}", names.empty() ? "" : ", ", entry.name);
  throw ValidationError(
      fmt::format("there is no option '{}'; the options are {}", name.substr(0, 80), names));
}

}  // namespace

void Options::set(std::string_view name, std::string_view value) {
  const Entry& entry = entry_named(name);
  if (entry.text && !(entry.number && parsed_number(value))) return entry.text(*this, trimmed(value));
  const std::optional<double> parsed = parsed_number(value);
  if (!parsed) refuse(entry.name, value, "a number");
  entry.number(*this, *parsed);
}

void Options::set(std::string_view name, double value) {
  const Entry& entry = entry_named(name);
  if (!entry.number) refuse(entry.name, fmt::format("{}", value), "nlsq_options_set: its value is a text");
  entry.number(*this, value);
}

}  // namespace nlsq::inline v0::c
