// Built-in models of two peaks of the same profile on a constant background.
#include "models/guesses/peak_fit.hpp"
#include "models/guesses/separable.hpp"
#include "models/rows.hpp"

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0::guessing {
namespace {

using Profile = double (*)(double);

double gaussian(double z) { return std::exp(-z * z / 2); }
double lorentzian(double z) { return 1 / (1 + z * z); }

// Two peaks p1, p2 of the same profile; q = (centre, log width) of each.
Separable pair_problem(const Sample& sample, const std::vector<double>& u, Profile profile) {
  Separable problem;
  problem.y = sample.y;
  problem.linear = 3;
  problem.lower = {kCentreLow, narrowest_log_width(u.size()), kCentreLow, narrowest_log_width(u.size())};
  problem.upper = {kCentreHigh, kWidestLogWidth, kCentreHigh, kWidestLogWidth};
  problem.basis = [&u, profile](std::span<const double> q, double* columns) {
    const std::size_t n = u.size();
    const double w1 = std::exp(q[1]), w2 = std::exp(q[3]);
    for (std::size_t i = 0; i < n; ++i) {
      columns[i] = profile((u[i] - q[0]) / w1);
      columns[n + i] = profile((u[i] - q[2]) / w2);
      columns[2 * n + i] = 1;
    }
  };
  return problem;
}

// Starts: the largest peak and the largest in the remainder, and two peaks in place of one broad peak.
std::vector<std::vector<double>> pair_starts(const Sample& sample, const std::vector<double>& u,
                                             Profile profile, double width_per_box) {
  const PeakProblem peak = {[profile](double z, std::span<const double>) { return profile(z); },
                            width_per_box};
  const PeakFit first = fit_peak(sample, peak);
  Sample rest = sample;
  for (std::size_t i = 0; i < rest.rows(); ++i)
    rest.y[i] -= first.height * profile((rest.x[i] - first.centre) / first.width) + first.background;
  const double centre = (first.centre - sample.x_min) / sample.span,
               log_width = std::log(first.width / sample.span);
  const double width = std::exp(log_width);
  std::vector<std::vector<double>> starts;
  for (const Bump& bump : find_bumps(u, rest.y))
    starts.push_back({centre, log_width, bump.centre, std::log(bump.half_width * width_per_box)});
  for (const double apart : {0.5, 1.0, 1.5})
    starts.push_back({centre - apart * width, log_width - 0.4, centre + apart * width, log_width - 0.4});
  const std::vector<Bump> bumps = find_bumps(u, sample.y);
  for (std::size_t i = 0; i < bumps.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (std::abs(bumps[i].centre - bumps[j].centre) >
          0.5 * std::min(bumps[i].half_width, bumps[j].half_width))
        starts.push_back({bumps[i].centre, std::log(bumps[i].half_width * width_per_box), bumps[j].centre,
                          std::log(bumps[j].half_width * width_per_box)});
  return starts;
}

// Returns {height, centre, width} of each peak, the left one first, then the background.
std::vector<double> fit_pair(const Sample& picked, Profile profile, double width_per_box) {
  const Sample averaged =
      picked.source ? picked.source->average(picked.x.front(), picked.x.back()) : Sample{};
  const Sample& sample = averaged.rows() > 8 ? averaged : picked;
  const std::vector<double> u = sample.unit_x();
  const Solution best =
      search(pair_problem(sample, u, profile), pair_starts(sample, u, profile, width_per_box), 6);
  const std::size_t left = best.q[0] <= best.q[2] ? 0 : 1, right = 1 - left;
  std::vector<double> values;
  for (const std::size_t k : {left, right}) {
    values.push_back(best.c[k]);
    values.push_back(sample.x_min + best.q[2 * k] * sample.span);
    values.push_back(std::exp(best.q[2 * k + 1]) * sample.span);
  }
  values.push_back(best.c[2]);
  return values;
}

constexpr TrialRange kHeight = {2, 10}, kLeft = {1.5, 4.2}, kRight = {5.8, 8.5}, kWidth = {0.35, 0.9};

}  // namespace

void add_double_peaks(std::vector<Model>& models) {
  models.push_back(make_model({"gaussian2",
                               "h1*exp(-(x-mu1)^2/(2*sigma1^2))+h2*exp(-(x-mu2)^2/(2*sigma2^2))+c",
                               "two Gaussian peaks on a constant background",
                               {{"h1", "height of the left peak (units of y)", kHeight},
                                {"mu1", "centre of the left peak (units of x)", kLeft},
                                {"sigma1", "standard deviation of the left peak (units of x)", kWidth},
                                {"h2", "height of the right peak (units of y)", kHeight},
                                {"mu2", "centre of the right peak (units of x)", kRight},
                                {"sigma2", "standard deviation of the right peak (units of x)", kWidth},
                                {"c", "background (units of y)", {-2, 2}}},
                               {0, 10},
                               [](const Sample& sample) { return fit_pair(sample, gaussian, 0.6); }}));
  models.push_back(
      make_model({"lorentzian2",
                  "h1/(1+((x-x1)/gamma1)^2)+h2/(1+((x-x2)/gamma2)^2)+c",
                  "two Lorentzian peaks on a constant background",
                  {{"h1", "height of the left peak (units of y)", kHeight},
                   {"x1", "centre of the left peak (units of x)", kLeft},
                   {"gamma1", "half width at half height of the left peak (units of x)", kWidth},
                   {"h2", "height of the right peak (units of y)", kHeight},
                   {"x2", "centre of the right peak (units of x)", kRight},
                   {"gamma2", "half width at half height of the right peak (units of x)", kWidth},
                   {"c", "background (units of y)", {-2, 2}}},
                  {0, 10},
                  [](const Sample& sample) { return fit_pair(sample, lorentzian, 0.6); }}));
}

}  // namespace nlsq::inline v0::guessing
