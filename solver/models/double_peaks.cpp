// Defines built-in models of two peaks of the same profile on a constant background.
#include "models/guesses/peak_fit.hpp"
#include "models/guesses/separable.hpp"
#include "models/model_families.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace nlsq::inline v0::guessing {
namespace {

using Profile = void (*)(std::span<double> z, std::span<const double>);

// Returns the problem of two peaks p1, p2 of the same profile, where q = (centre, log width) of each.
Separable pair_problem(const Sample& sample, const std::vector<double>& u, Profile profile) {
  Separable problem(sample, u, 3,
                    {kCentreLow, narrowest_log_width(u.size()), kCentreLow, narrowest_log_width(u.size())},
                    {kCentreHigh, kWidestLogWidth, kCentreHigh, kWidestLogWidth});
  problem.basis = [profile](std::span<const double> at, std::span<const double> q, double* columns) {
    const std::size_t n = at.size();
    const double w1 = std::exp(q[1]), w2 = std::exp(q[3]);
    for (std::size_t i = 0; i < n; ++i) {
      columns[i] = (at[i] - q[0]) / w1;
      columns[n + i] = (at[i] - q[2]) / w2;
      columns[2 * n + i] = 1;
    }
    profile({columns, 2 * n}, {});
  };
  return problem;
}

// Returns the sample minus the peak, whose height and place were fitted to it.
Sample without(const Sample& sample, const PeakFit& peak, Profile profile) {
  Sample rest = sample;
  std::vector<double> values(rest.rows());
  for (std::size_t i = 0; i < rest.rows(); ++i) values[i] = (rest.x[i] - peak.centre) / peak.width;
  profile(values, {});
  for (std::size_t i = 0; i < rest.rows(); ++i) rest.y[i] -= peak.height * values[i];
  rest.measure();
  return rest;
}

// Returns the starts: the largest peak and the largest one in the remainder, each fitted again beside the
// other; the largest peak beside every bump of the remainder; two peaks in place of one broad peak; and pairs
// of bumps.
std::vector<std::vector<double>> pair_starts(const Sample& sample, const std::vector<double>& u,
                                             Profile profile, double width_per_box) {
  const PeakProblem peak = {profile, width_per_box};
  const auto place = [&](const PeakFit& fit) {
    return std::vector{(fit.centre - sample.x_min) / sample.span, std::log(fit.width / sample.span)};
  };
  const auto box = [&](const Bump& bump) {
    return std::vector{bump.centre, std::log(bump.half_width * width_per_box)};
  };
  std::vector<std::vector<double>> starts;
  const auto add = [&starts](std::vector<double> one, const std::vector<double>& other) {
    one.insert(one.end(), other.begin(), other.end());
    starts.push_back(std::move(one));
  };
  PeakFit first = fit_peak(sample, peak);
  const Sample rest = without(sample, first, profile);
  for (const Bump& bump : find_bumps(u, rest.y, rest.weight)) add(place(first), box(bump));
  const std::vector<double> broad = place(first);
  for (const double apart : {0.5, 1.0, 1.5}) {
    const double shift = apart * std::exp(broad[1]);
    add({broad[0] - shift, broad[1] - 0.4}, {broad[0] + shift, broad[1] - 0.4});
  }
  PeakFit second = fit_peak(rest, peak);
  for (int round = 0; round < 2; ++round) {
    first = fit_peak(without(sample, second, profile), peak);
    second = fit_peak(without(sample, first, profile), peak);
    add(place(first), place(second));
  }
  for (const auto& [one, other] : find_bump_pairs(u, sample.y, sample.weight)) add(box(one), box(other));
  return starts;
}

// Returns the better pair of peaks. Two neighbouring peaks may be found as the difference of two high ones at
// one place. In this case it also looks for two peaks beside each other.
Solution separated(const Separable& problem, Solution best) {
  const double w1 = std::exp(best.q[1]), w2 = std::exp(best.q[3]);
  const bool difference = best.c[0] * best.c[1] < 0 && std::abs(best.q[0] - best.q[2]) < std::max(w1, w2);
  if (!difference) return best;
  const double centre = (best.q[0] + best.q[2]) / 2, width = std::max(w1, w2);
  for (const double apart : {0.7, 1.0, 1.4}) {
    const double narrow = std::log(0.7 * width);
    Solution pair = improve(
        problem, solve(problem, {centre - apart * width, narrow, centre + apart * width, narrow}), 40);
    if (pair.rss < best.rss) best = std::move(pair);
  }
  return best;
}

// Returns {height, centre, width} of each peak, the left one first, then the background.
std::vector<double> fit_pair(const Sample& picked, Profile profile, double width_per_box) {
  const Sample averaged =
      picked.source ? picked.source->average(picked.x.front(), picked.x.back()) : Sample{};
  const Sample& sample = averaged.rows() > 8 ? averaged : picked;
  const std::vector<double> u = sample.unit_x();
  const Separable problem = pair_problem(sample, u, profile);
  const Solution best = separated(problem, search(problem, pair_starts(sample, u, profile, width_per_box),
                                                  {.keep = 16, .finalists = 6, .rival = 1e9}));
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

constexpr TrialRange kPairHeight = {2, 10}, kLeft = {1.5, 4.2}, kRight = {5.8, 8.5}, kWidth = {0.35, 0.9};

}  // namespace

void add_double_peaks(std::vector<Model>& models) {
  add(models, "gaussian2", "h1*exp(-(x-mu1)^2/(2*sigma1^2))+h2*exp(-(x-mu2)^2/(2*sigma2^2))+c",
      "two Gaussian peaks on a constant background",
      {{"h1", "height of the left peak (units of y)", kPairHeight},
       {"mu1", "centre of the left peak (units of x)", kLeft},
       {"sigma1", "standard deviation of the left peak (units of x)", kWidth},
       {"h2", "height of the right peak (units of y)", kPairHeight},
       {"mu2", "centre of the right peak (units of x)", kRight},
       {"sigma2", "standard deviation of the right peak (units of x)", kWidth},
       {"c", "background (units of y)", {-2, 2}}},
      {0, 10}, [](const Sample& sample) { return fit_pair(sample, gaussian_shape, 0.6); });
  add(models, "lorentzian2", "h1/(1+((x-x1)/gamma1)^2)+h2/(1+((x-x2)/gamma2)^2)+c",
      "two Lorentzian peaks on a constant background",
      {{"h1", "height of the left peak (units of y)", kPairHeight},
       {"x1", "centre of the left peak (units of x)", kLeft},
       {"gamma1", "half width at half height of the left peak (units of x)", kWidth},
       {"h2", "height of the right peak (units of y)", kPairHeight},
       {"x2", "centre of the right peak (units of x)", kRight},
       {"gamma2", "half width at half height of the right peak (units of x)", kWidth},
       {"c", "background (units of y)", {-2, 2}}},
      {0, 10}, [](const Sample& sample) { return fit_pair(sample, lorentzian_shape, 0.6); });
}

}  // namespace nlsq::inline v0::guessing
