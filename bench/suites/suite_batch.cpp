// Suite batch makes many fits of one small image each on two threads. It reports fits per second; each of
// ours is certified in f64.
#include "peers/peer_batch.hpp"
#include "suites/suites.hpp"

#include <nlsq/nlsq.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace bench {

namespace {

constexpr const char* kSpot = "a*exp(-((x1-cx)^2+(x2-cy)^2)/(2*s^2))+b";
constexpr int kThreads = 2;

// Draws spots as in performance studies of Gpufit and Cpufit: a spot near the middle on a background, with
// perturbed start values.
SpotBatch spots(std::size_t fits) {
  SpotBatch batch;
  batch.fits = fits;
  std::mt19937_64 random(20240117);
  std::normal_distribution<> noise;
  std::uniform_real_distribution<> spread(-0.5, 0.5);
  for (int i = 0; i < 225; ++i) {
    batch.x.push_back(i % 15);
    batch.y.push_back(i / 15);
  }
  for (std::size_t f = 0; f < fits; ++f) {
    const double a = 100 * (1 + 0.4 * spread(random)), cx = 7 + 2 * spread(random),
                 cy = 7 + 2 * spread(random);
    const double s = 1.5 * (1 + 0.4 * spread(random)), b = 10;
    for (std::size_t i = 0; i < 225; ++i) {
      const double dx = batch.x[i] - cx, dy = batch.y[i] - cy;
      batch.images.push_back(a * std::exp(-(dx * dx + dy * dy) / (2 * s * s)) + b + 3 * noise(random));
    }
    for (const double p : {a * (1 + 0.2 * spread(random)), cx + spread(random), cy + spread(random),
                           s * (1 + 0.3 * spread(random)), b * (1 + 0.3 * spread(random))}) {
      batch.starts.push_back(p);
    }
  }
  return batch;
}

}  // namespace

void run_batch(const Settings& settings) {
  settings.report->begin_suite(
      "batch",
      "2-D Gaussian, 15 x 15 pixels, 5 parameters, two threads; goal: 100,000 fits a second with "
      "certificate and standard\nerrors. lmder: derivatives by hand, workspaces kept, the fits shared "
      "out to as many threads");
  const std::size_t fits = settings.quick ? 2000 : 20000;
  const SpotBatch batch = spots(fits);
  const nlsq::PreparedModel model(kSpot, 2);
  const std::vector<nlsq::ColumnPerFit> x{nlsq::ColumnPerFit(batch.x), nlsq::ColumnPerFit(batch.y)};
  const auto images = nlsq::ColumnPerFit::of(batch.images.data(), fits, 225);
  nlsq::Matrix starts(fits, 5);
  std::copy(batch.starts.begin(), batch.starts.end(), starts.data());
  std::size_t certified = 0;
  const auto ours = [&](int threads) {
    return [&, threads] {
      nlsq::BatchOptions options;
      options.threads = threads;
      const nlsq::BatchResult result = nlsq::curve_fit_batch(model, x, images, starts, options);
      certified = result.certified;
      return std::vector<double>(result.parameters.data(), result.parameters.data() + fits * 5);
    };
  };
  std::vector<Contender> contenders{{"nlsq", ours(kThreads)}, {"nlsq, 1 thread", ours(1)}};
  for (const double tolerance : {1e-10, 1e-4}) {
    if (auto peer = cminpack_batch(batch, tolerance, kThreads)) {
      peer->name += fmt::format(", {:.0e}", tolerance);
      contenders.push_back(std::move(*peer));
    }
  }
  const std::vector<Measured> measured = measure(contenders, settings);
  settings.report->goal({"batch", fmt::format("15 x 15 Gaussians, {} threads, all certified", kThreads),
                         static_cast<double>(certified) / measured[0].seconds, Asked::at_least, 1e5,
                         " fits/s"});
  for (std::size_t k = 1; k < contenders.size(); ++k) {
    Row row;
    row.suite = "batch";
    row.name = fmt::format("{} spots", fits);
    row.ours_s = measured[0].seconds;
    row.peer = contenders[k].name;
    row.peer_s = measured[k].seconds;
    row.max_rel_diff = largest_difference(measured[k].result, measured[0].result);
    row.sound = certified == fits;
    const double count = static_cast<double>(fits);
    row.note =
        fmt::format("{:.0f} fits/s, all certified; theirs {:.0f}", count / row.ours_s, count / row.peer_s);
    if (certified != fits) row.note = fmt::format("{} of {} certified", certified, fits);
    settings.report->add(row);
  }
}

}  // namespace bench
