// Lists the names of the options of the C interface, and sets the option of each name.
#include "c/caller_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

namespace nlsq::inline v0::c {

namespace {

constexpr double kMost = std::numeric_limits<int>::max();
constexpr double kHuge = std::numeric_limits<double>::max();
constexpr double kLeast = std::numeric_limits<double>::min();

// This is an option whose value is a number or a text.
struct Entry {
  std::string_view name;
  std::function<void(Options&, double)> number;
  std::function<void(Options&, std::string_view)> text = {};
};

[[noreturn]] void refuse(std::string_view name, std::string_view value, std::string_view allowed) {
  throw ValidationError(fmt::format("{} = {}: use {}", name, value.substr(0, 80), allowed));
}

// Makes an option for numbers for which `fits` is true. `allowed` describes them.
Entry number_that(std::string_view name, auto fits, const std::string& allowed,
                  std::function<void(Options&, double)> set) {
  return {name, [=](Options& o, double value) {
            if (!fits(value)) refuse(name, fmt::format("{}", value), allowed);
            set(o, value);
          }};
}

// Makes an option for a number from `least` to `most` inclusive; NaN is outside.
Entry number(std::string_view name, double least, double most, std::function<void(Options&, double)> set) {
  const auto fits = [=](double value) { return value >= least && value <= most; };
  std::string allowed = fmt::format("a number from {} to {}", least, most);
  if (most == kHuge)
    allowed = least > 0 ? "a positive, finite number" : "a finite number that is not negative";
  return number_that(name, fits, allowed, set);
}

// Makes an option for a number between 0 and 1, without these two.
Entry share(std::string_view name, const std::string& example, std::function<void(Options&, double)> set) {
  const auto fits = [](double value) { return value >= kLeast && value < 1; };
  return number_that(name, fits, "a number between 0 and 1" + example, set);
}

// Makes an option for a tolerance, which lies in [0, 1).
Entry tolerance(std::string_view name, std::function<void(Options&, double)> set) {
  const auto fits = [](double value) { return value >= 0 && value < 1; };
  return number_that(name, fits, "a number from 0 up to, not including, 1", set);
}

Entry whole(std::string_view name, double least, double most, std::function<void(Options&, double)> set) {
  const auto fits = [=](double value) {
    return value >= least && value <= most && value == std::floor(value);
  };
  return number_that(name, fits, fmt::format("a whole number from {} to {}", least, most), set);
}

template <class T>
Entry word(std::string_view name, std::function<void(Options&, T)> set,
           std::vector<std::pair<std::string_view, T>> all) {
  return {name, {}, [=](Options& o, std::string_view text) {
            for (const auto& [choice, value] : all) {
              if (text == choice) return set(o, value);
            }
            refuse(name, text, fmt::format("{}", fmt::join(all | std::views::keys, ", ")));
          }};
}

// Returns a function that sets a member of the options.
template <class T, class Of>
auto setter(T Of::*member) {
  return [member](Options& o, auto value) {
    if constexpr (std::is_same_v<Of, Options>) o.*member = static_cast<T>(value);
    else o.fit.*member = static_cast<T>(value);
  };
}

Entry truth(std::string_view name, std::function<void(Options&, bool)> set) {
  Entry entry = word<bool>(
      name, set,
      {{"yes", true}, {"no", false}, {"true", true}, {"false", false}, {"on", true}, {"off", false}});
  entry.number = [=](Options& o, double value) {
    if (value != 0 && value != 1) refuse(name, fmt::format("{}", value), "0 or 1, yes or no");
    set(o, value != 0);
  };
  return entry;
}

Entry text(std::string_view name, std::function<void(Options&, std::string_view)> set) {
  return {name, {}, std::move(set)};
}

std::vector<Entry> solver_entries() {
  using enum Algorithm;
  return {
      tolerance("xtol", setter(&FitOptions::xtol)),
      tolerance("gtol", setter(&FitOptions::gtol)),
      tolerance("ftol", setter(&FitOptions::ftol)),
      number("tau", 0, kHuge, setter(&FitOptions::tau)),
      whole("max_iterations", 0, kMost, setter(&FitOptions::max_iterations)),
      number("time_limit", 0, kHuge, setter(&FitOptions::max_seconds)),
      word<Algorithm>(
          "strategy", setter(&FitOptions::algorithm),
          {{"levenberg_marquardt", levenberg_marquardt}, {"gauss_newton", gauss_newton}, {"dogleg", dogleg}}),
      word<Geodesic>(
          "geodesic", setter(&FitOptions::geodesic),
          {{"auto", Geodesic::automatic}, {"always", Geodesic::always}, {"never", Geodesic::never}}),
      whole("nonmonotonic", 0, 1e6, setter(&FitOptions::nonmonotonic_steps)),
      number("initial_lambda", 0, kHuge, setter(&FitOptions::initial_lambda)),
      text("precision", [](Options& o, std::string_view v) { o.precision = PrecisionPolicy::parse(v); }),
      text("rule",
           [](Options& o, std::string_view v) {
             if (v.empty()) return o.rules.clear();
             o.rules.push_back(PrecisionRule::parse(v));
           }),
      truth("strict", setter(&FitOptions::strict)),
      word<Sampling>(
          "sampling", setter(&FitOptions::sampling),
          {{"auto", Sampling::automatic}, {"always", Sampling::always}, {"never", Sampling::never}}),
      whole("threads", 0, 4096, setter(&FitOptions::threads)),
      word<StepSolver>("step_solver", setter(&FitOptions::step_solver),
                       {{"auto", StepSolver::automatic},
                        {"factored", StepSolver::factored},
                        {"iterative", StepSolver::iterative}}),
      word<Preconditioner>(
          "preconditioner", setter(&FitOptions::preconditioner),
          {{"jacobi", Preconditioner::jacobi}, {"schur_jacobi", Preconditioner::schur_jacobi}}),
      share("eta", "", setter(&FitOptions::eta)),
      whole("max_linear_iterations", 1, kMost, setter(&FitOptions::max_linear_iterations)),
  };
}

std::vector<Entry> fit_entries() {
  return {
      text("loss",
           [](Options& o, std::string_view v) {
             Loss::named(v);
             o.loss = std::string(v);
           }),
      number("f_scale", kLeast, kHuge, setter(&Options::f_scale)),
      whole("starts", 1, 1e6, setter(&FitOptions::starts)),
      whole("seed", 0, 9007199254740992.0, setter(&FitOptions::seed)),
      truth("absolute_sigma", setter(&FitOptions::absolute_sigma)),
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
      word<VariableProjection>("variable_projection", setter(&FitOptions::variable_projection),
                               {{"auto", VariableProjection::automatic},
                                {"on", VariableProjection::on},
                                {"off", VariableProjection::off}}),
      truth("solve_linear_start", setter(&FitOptions::solve_linear_start)),
      share("confidence", ", such as 0.95 for 95 %", setter(&Options::confidence)),
      truth("residuals", setter(&Options::residuals)),
      number("recheck_tolerance", 0, 1, setter(&Options::recheck_tolerance)),
      truth("in_lanes", setter(&Options::in_lanes)),
      word<Differences>("differences", setter(&Options::differences),
                        {{"central", Differences::central}, {"ridders", Differences::ridders}}),
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

// Returns the entry of a name, in which - may be written in place of _.
const Entry& entry_named(std::string_view name) {
  const auto same = [&](const Entry& entry) {
    return std::ranges::equal(name, entry.name,
                              [](char a, char b) { return a == b || (a == '-' && b == '_'); });
  };
  const auto found = std::ranges::find_if(entries(), same);
  if (found != entries().end()) return *found;
  throw ValidationError(fmt::format("there is no option '{}'; the options are {}", name.substr(0, 80),
                                    fmt::join(entries() | std::views::transform(&Entry::name), ", ")));
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
