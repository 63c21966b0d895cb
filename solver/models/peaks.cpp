// Defines built-in symmetric peaks on a constant background. Most have a height parameter; the *_area
// variants have an area.
#include "models/guesses/peak_fit.hpp"
#include "models/guesses/separable.hpp"
#include "models/model_families.hpp"

#include <nlsq/special_functions.hpp>

#include <cmath>
#include <numbers>

namespace nlsq::inline v0::guessing {
namespace {

// Computes Pearson VII and Moffat profiles of half width 1: (1 + (2^(1/m) - 1) z^2)^(-m), with m =
// exp(extra).
void power_shape(std::span<double> z, std::span<const double> log_m) {
  const double m = std::exp(log_m[0]), factor = std::expm1(std::numbers::ln2 / m);
  for (double& value : z) value = -m * std::log1p(factor * value * value);
  exp_in_place(z);
}

// Fits one of these, with m between its limits. Beyond the upper one the peak looks Gaussian and m is not
// determined.
PeakFit fit_power(const Sample& sample, std::vector<std::vector<double>> log_m_starts) {
  return fit_peak(sample, {.shape = power_shape,
                           .width_per_box = 0.7,
                           .extra_starts = std::move(log_m_starts),
                           .extra_lower = {std::log(0.3)},
                           .extra_upper = {std::log(50.0)}});
}

constexpr ParameterRow kHeightRow = {
    "h", "height above the background (units of y); negative for a dip", {1, 10}};
constexpr ParameterRow kAreaRow = {"a", "area under the peak (y times x)", {1, 10}};
constexpr ParameterRow kBackground = {"c", "background (units of y)", {-2, 2}};
constexpr ParameterRow kVoigtSigma = {"sigma", "standard deviation of the Gaussian (units of x)", {0.3, 1}};
constexpr ParameterRow kVoigtGamma = {"gamma", "half width of the Lorentzian (units of x)", {0.3, 1}};
constexpr TrialRange kCentreTrial = {2, 8};
constexpr TrialRange kWidthTrial = {0.35, 1.5, true};
constexpr TrialRange kPeakTrialX = {0, 10};
constexpr std::size_t kCostly = 500;  // rows; a Voigt profile costs as much as ten exponentials

PeakFit fit_gaussian(const Sample& sample) { return fit_peak(sample, {gaussian_shape}); }
PeakFit fit_lorentzian(const Sample& sample) { return fit_peak(sample, {lorentzian_shape}); }

using FitPeak = PeakFit (*)(const Sample&);

// Returns the guess of a model with the parameters height, centre, width and background.
GuessRule by_height(FitPeak fit_peak_of) {
  return [=](const Sample& sample) {
    const PeakFit fit = fit_peak_of(sample);
    return std::vector{fit.height, fit.centre, fit.width, fit.background};
  };
}

// Returns the guess of a model with the parameters area, width, centre and background. `unit_area` is the
// area of the peak of height and width 1.
GuessRule by_area(FitPeak fit_peak_of, double unit_area) {
  return [=](const Sample& sample) {
    const PeakFit fit = fit_peak_of(sample);
    return std::vector{fit.height * fit.width * unit_area, fit.width, fit.centre, fit.background};
  };
}

// Fits the height of a Voigt profile with Gaussian width 1 (the search scales it) and Lorentzian width
// exp(extra).
PeakFit fit_voigt(const Sample& sample) {
  PeakProblem problem;
  problem.shape = [](std::span<double> z, std::span<const double> extra) {
    const double gamma = std::exp(extra[0]);
    for (double& value : z) value = voigt(value, 1, gamma);
  };
  problem.width_per_box = 0.4;
  problem.extra_starts = {{std::log(0.3)}, {std::log(3.0)}};
  // The derivatives by sigma and gamma vanish where these are 0, so the fit starts away from there.
  problem.extra_lower = {std::log(0.03)};
  problem.extra_upper = {std::log(30.0)};
  PeakFit fit = fit_peak(sample, problem);
  fit.height *= voigt(0, 1, std::exp(fit.extra[0]));
  return fit;
}

// Fits h (eta L + (1-eta) G) + c, with profiles L and G of one width. This is linear in h eta, h (1-eta) and
// c.
std::vector<double> pseudo_voigt(const Sample& sample) {
  const std::vector<double> u = sample.unit_x();
  Separable problem(sample, u, 3, {kCentreLow, narrowest_log_width(u.size())},
                    {kCentreHigh, kWidestLogWidth});
  problem.basis = [](std::span<const double> at, std::span<const double> q, double* columns) {
    const std::size_t n = at.size();
    const double width = std::exp(q[1]);
    for (std::size_t i = 0; i < n; ++i) {
      const double square = (at[i] - q[0]) * (at[i] - q[0]) / (width * width);
      columns[i] = 1 / (1 + square);
      columns[n + i] = -std::numbers::ln2 * square;
      columns[2 * n + i] = 1;
    }
    exp_in_place({columns + n, n});
  };
  std::vector<std::vector<double>> starts;
  for (const Bump& bump : find_bumps(u, sample.y, sample.weight))
    for (const double width : {0.4, 0.9}) starts.push_back({bump.centre, std::log(width * bump.half_width)});
  // With few rows, a narrow peak with a fraction above 1 may look better than the right one at first.
  constexpr std::size_t kFew = 250;
  const Effort thorough{.keep = 8, .finalists = 4, .rival = 10}, usual{.keep = 4};
  const Solution best = search(problem, starts, u.size() <= kFew ? thorough : usual);
  const double height = best.c[0] + best.c[1];
  return {height, height != 0 ? best.c[0] / height : 0.5, sample.x_min + best.q[0] * sample.span,
          std::exp(best.q[1]) * sample.span, best.c[2]};
}

void add_gaussians_and_lorentzians(std::vector<Model>& models) {
  add(models, "gaussian", "h*exp(-(x-mu)^2/(2*sigma^2))+c", "Gaussian peak on a constant background",
      {kHeightRow,
       {"mu", "centre (units of x)", kCentreTrial},
       {"sigma", "standard deviation (units of x); the full width at half height is 2.3548 sigma",
        kWidthTrial},
       kBackground},
      kPeakTrialX, by_height(fit_gaussian), {.most = kSharp});
  add(models, "gaussian_area", "a/(sigma*sqrt(2*pi))*exp(-(x-mu)^2/(2*sigma^2))+c",
      "Gaussian peak by its area, on a constant background",
      {kAreaRow,
       {"sigma", "standard deviation (units of x)", kWidthTrial},
       {"mu", "centre (units of x)", kCentreTrial},
       kBackground},
      kPeakTrialX, by_area(fit_gaussian, std::sqrt(2 * std::numbers::pi)), {.most = kSharp});
  add(models, "lorentzian", "h/(1+((x-x0)/gamma)^2)+c", "Lorentzian (Cauchy) peak on a constant background",
      {kHeightRow,
       {"x0", "centre (units of x)", kCentreTrial},
       {"gamma", "half width at half height (units of x)", kWidthTrial},
       kBackground},
      kPeakTrialX, by_height(fit_lorentzian), {.most = kSharp});
  add(models, "lorentzian_area", "a/(pi*gamma*(1+((x-x0)/gamma)^2))+c",
      "Lorentzian peak by its area, on a constant background",
      {kAreaRow,
       {"gamma", "half width at half height (units of x)", kWidthTrial},
       {"x0", "centre (units of x)", kCentreTrial},
       kBackground},
      kPeakTrialX, by_area(fit_lorentzian, std::numbers::pi), {.most = kSharp});
}

void add_voigts(std::vector<Model>& models) {
  add(models, "voigt", "h*voigt(x-x0,sigma,gamma)/voigt(0,sigma,gamma)+c",
      "Voigt peak (Gaussian convolved with Lorentzian), by its height, on a constant background",
      {kHeightRow, {"x0", "centre (units of x)", kCentreTrial}, kVoigtSigma, kVoigtGamma, kBackground},
      kPeakTrialX,
      [](const Sample& sample) {
        const PeakFit fit = fit_voigt(sample);
        return std::vector{fit.height, fit.centre, fit.width, fit.width * std::exp(fit.extra[0]),
                           fit.background};
      },
      {.most = kCostly});
  add(models, "voigt_area", "a*voigt(x-x0,sigma,gamma)+c", "Voigt peak by its area, on a constant background",
      {kAreaRow, {"x0", "centre (units of x)", kCentreTrial}, kVoigtSigma, kVoigtGamma, kBackground},
      kPeakTrialX,
      [](const Sample& sample) {
        const PeakFit fit = fit_voigt(sample);
        const double gamma = fit.width * std::exp(fit.extra[0]);
        return std::vector{fit.height / voigt(0, fit.width, gamma), fit.centre, fit.width, gamma,
                           fit.background};
      },
      {.most = kCostly});
  add(models, "pseudo_voigt", "h*(eta/(1+((x-x0)/w)^2)+(1-eta)*exp(-log(2)*((x-x0)/w)^2))+c",
      "pseudo-Voigt peak: Lorentzian and Gaussian of one width, mixed",
      {kHeightRow,
       {"eta", "Lorentzian fraction (pure number, 0 to 1)", {0.1, 0.9}},
       {"x0", "centre (units of x)", kCentreTrial},
       {"w", "half width at half height (units of x)", kWidthTrial},
       kBackground},
      kPeakTrialX, pseudo_voigt, {.most = kSharp});
}

void add_power_peaks(std::vector<Model>& models) {
  add(models, "pearson7",
      "h*exp(-m*log1p(expm1(log(2)/m)*((x-x0)/w)^2))+c",  // (1+(2^(1/m)-1)z^2)^(-m), exact for large m too
      "Pearson VII peak: Lorentzian for m = 1, Gaussian as m grows",
      {kHeightRow,
       {"m", "shape (pure number)", {1, 4}},
       {"x0", "centre (units of x)", kCentreTrial},
       {"w", "half width at half height (units of x)", kWidthTrial},
       kBackground},
      kPeakTrialX,
      [](const Sample& sample) {
        const PeakFit fit = fit_power(sample, {{std::log(1.0)}, {std::log(4.0)}});
        return std::vector{fit.height, std::exp(fit.extra[0]), fit.centre, fit.width, fit.background};
      },
      {.most = kSharp});
  add(models, "moffat", "h*(1+((x-x0)/alpha)^2)^(-beta)+c",
      "Moffat peak (star images) on a constant background",
      {kHeightRow,
       {"x0", "centre (units of x)", kCentreTrial},
       {"alpha", "width (units of x)", kWidthTrial},
       {"beta", "steepness of the wings (pure number)", {1, 4}},
       kBackground},
      kPeakTrialX,
      [](const Sample& sample) {
        // Searches over the half width w = alpha sqrt(2^(1/beta) - 1), which depends little on beta.
        const PeakFit fit = fit_power(sample, {{std::log(2.0)}});
        const double beta = std::exp(fit.extra[0]);
        const double alpha = fit.width / std::sqrt(std::expm1(std::numbers::ln2 / beta));
        return std::vector{fit.height, fit.centre, alpha, beta, fit.background};
      },
      {.most = kSharp});
}

}  // namespace

void add_peaks(std::vector<Model>& models) {
  add_gaussians_and_lorentzians(models);
  add_voigts(models);
  add_power_peaks(models);
}

}  // namespace nlsq::inline v0::guessing
