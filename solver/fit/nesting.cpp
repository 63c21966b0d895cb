// Implements the nesting of built-in models by an explicit table: which models contain which.
//
// A model is a sum of bodies: exp is the body exp and a constant, biexp two bodies exp and a constant. A
// model is nested in another if each of its bodies is one of the other's, or one of the other's with
// parameters fixed. The remaining bodies are removed by fixing their amplitudes at 0.
#include <nlsq/compare.hpp>

#include "models/recognise.hpp"

#include "policy_text.hpp"

#include <algorithm>
#include <string_view>

namespace nlsq::inline v0 {

namespace {

using Bodies = std::vector<std::string_view>;

// This is a body that is another one with parameters fixed. The case is `irregular` at the edge of a
// parameter's range, or where the derivatives of the general body are dependent.
struct Special {
  std::string_view body, general;
  bool irregular = false;
};

constexpr Special kSpecial[] = {
    {"exp", "stretched_exp"},             // beta = 1
    {"exp", "weibull_pdf"},               // k = 1
    {"1", "exp"},                         // b = 0
    {"1", "power"},                       // b = 0
    {"x", "power"},                       // b = 1
    {"gaussian", "pseudo_voigt"},         // eta = 0
    {"lorentzian", "pseudo_voigt"},       // eta = 1
    {"gaussian", "voigt", true},          // gamma = 0
    {"lorentzian", "voigt", true},        // sigma = 0
    {"lorentzian", "pearson7"},           // m = 1
    {"gaussian", "skew_gaussian", true},  // alpha = 0: its derivative is that by mu
    {"sine", "damped_sine"},              // b = 0
    {"langmuir", "logistic4"},            // n = 1, and bottom = 0
    {"langmuir", "logistic5"},            // n = 1, s = 1, and bottom = 0
    {"logistic4", "logistic5"},           // s = 1
    {"gaussian2d", "gaussian2d_turned"},  // theta = 0
};

// Models that are nested as a whole, without a body in common.
constexpr Special kSpecialWhole[] = {
    {"constant", "rational11"},          // b1 = 0, a1 = 0
    {"linear", "rational11"},            // b1 = 0
    {"michaelis_menten", "rational11"},  // a0 = 0
    {"langmuir", "rational11"},          // a0 = 0
    {"constant", "rational22"},          // a1 = a2 = b1 = b2 = 0
    {"linear", "rational22"},            // a2 = b1 = b2 = 0
    {"poly2", "rational22"},             // b1 = b2 = 0
    {"michaelis_menten", "rational22"},  // a0 = a2 = b2 = 0
    {"langmuir", "rational22"},          // a0 = a2 = b2 = 0
    {"rational11", "rational22"},        // a2 = b2 = 0
};

// Models whose bodies have another name than the model, or that consist of several bodies. Polynomials are
// handled in bodies_of. All other models are one body of their own name.
constexpr std::string_view kBodies =
    "constant = 1; linear = x + 1; exp = exp + 1; exp_growth = exp + 1; exp_rise = exp + 1; exp0 = exp; "
    "biexp = exp + exp + 1; stretched_exp = stretched_exp + 1; weibull_growth = stretched_exp + 1; "
    "power_offset = power + 1; log = log + 1; gaussian = gaussian + 1; gaussian_area = gaussian + 1; "
    "lorentzian = lorentzian + 1; lorentzian_area = lorentzian + 1; voigt = voigt + 1; "
    "voigt_area = voigt + 1; pseudo_voigt = pseudo_voigt + 1; pearson7 = pearson7 + 1; "
    "moffat = pearson7 + 1; skew_gaussian = skew_gaussian + 1; emg = emg + 1; fano = fano + 1; "
    "gaussian2 = gaussian + gaussian + 1; lorentzian2 = lorentzian + lorentzian + 1; sine = sine + 1; "
    "damped_sine = damped_sine + 1; logistic = logistic + 1; fermi = logistic + 1; "
    "logistic4 = logistic4 + 1; logistic5 = logistic5 + 1; erf_step = erf_step + 1; "
    "michaelis_menten = langmuir; langmuir = langmuir; gaussian2d = gaussian2d + 1; "
    "gaussian2d_rotated = gaussian2d_turned + 1";

constexpr std::string_view kPowers[] = {"1", "x", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9"};

bool is_power(std::string_view body) { return std::ranges::find(kPowers, body) != std::end(kPowers); }

// Returns true if a body has no further parameters. Then no parameter is left without effect when the body is
// removed.
bool is_amplitude_alone(std::string_view body) { return is_power(body) || body == "log"; }

void add_bodies(std::string_view name, Bodies& bodies) {
  if (name.starts_with("poly") && name.size() == 5) {
    const auto degree = static_cast<std::size_t>(name[4] - '0');
    bodies.insert(bodies.end(), kPowers, kPowers + degree + 1);
    return;
  }
  for (const std::string_view row : split(kBodies, ';')) {
    const auto [model, sum] = *assignment(row);
    if (model != name) continue;
    for (const std::string_view body : split(sum, '+')) bodies.push_back(body);
    return;
  }
  bodies.push_back(name);
}

// Returns the bodies of a model. Each power of x occurs once, because the constants of a sum's terms add up
// to one.
Bodies bodies_of(const Model& model) {
  Bodies all, bodies;
  if (model.terms.empty()) add_bodies(model.name, all);
  for (const ModelTerm& term : model.terms) add_bodies(term.model, all);
  const auto& names = model.parameters;
  const bool constant = std::ranges::find(names, "c") != names.end();
  if (!model.terms.empty() && constant) all.push_back("1");  // a term `constant` has no row in `terms`
  for (const std::string_view body : all) {
    if (!is_power(body) || std::ranges::find(bodies, body) == bodies.end()) bodies.push_back(body);
  }
  return bodies;
}

Nesting weaker(Nesting a, Nesting b) { return std::max(a, b); }

// Removes from `free` a body that is `body`, or that contains it. Returns how the two are nested.
Nesting take(std::string_view body, Bodies& free, bool only_same) {
  if (const auto same = std::ranges::find(free, body); same != free.end()) {
    free.erase(same);
    return Nesting::same_curve;
  }
  if (only_same) return Nesting::unknown;
  for (const Special& special : kSpecial) {
    const auto general = std::ranges::find(free, special.general);
    if (special.body != body || general == free.end()) continue;
    free.erase(general);
    return special.irregular ? Nesting::nested_irregular : Nesting::nested;
  }
  return Nesting::unknown;
}

}  // namespace

Nesting nesting(const Model& smaller, const Model& larger) {
  if (smaller.predictors != larger.predictors) return Nesting::unknown;
  for (const Special& s : kSpecialWhole) {
    if (s.body == smaller.name && s.general == larger.name) return Nesting::nested;
  }
  Bodies free = bodies_of(larger), left;
  for (const std::string_view body : bodies_of(smaller)) {
    if (take(body, free, true) == Nesting::unknown) left.push_back(body);
  }
  Nesting found = Nesting::same_curve;
  for (const std::string_view body : left) {
    const Nesting of_body = take(body, free, false);
    if (of_body == Nesting::unknown) return Nesting::unknown;
    found = weaker(found, of_body);
  }
  for (const std::string_view body : free)
    found = weaker(found, is_amplitude_alone(body) ? Nesting::nested : Nesting::nested_irregular);
  return found;
}

const Model* known_model(const Formula& formula) { return guessing::recognise(formula).model; }

}  // namespace nlsq::inline v0
