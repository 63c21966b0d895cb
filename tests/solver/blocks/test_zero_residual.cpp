// Tests residuals that count as zero, because they are nothing but their own rounding errors. Clocks of 1.7e9
// s with noise in a few of their last digits do not, although their residuals are 1e-15 of their terms.
#include <nlsq/certify.hpp>
#include <nlsq/problem.hpp>

#include <doctest/doctest.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "noisy_rows.hpp"

using namespace nlsq;

namespace {

struct Drift {
  double t, stamp;
  template <class T>
  T operator()(const T* clock, const T* drift) const {
    return (stamp - clock[0]) - drift[0] * t;
  }
};

// Holds time stamps of a clock that drifts by 2.5, with noise, and their exact minimum.
struct Stamps {
  std::vector<double> t, stamp;

  Stamps(double noise, int rows, unsigned seed) {
    NoisyRows drawn = noisy_rows(rows, noise, seed, [](long double at) { return 1.7e9L + 0.3L + 2.5L * at; });
    t = std::move(drawn.x);
    stamp = std::move(drawn.y);
  }
  long double cost(long double clock, long double drift) const {
    long double sum = 0;
    for (std::size_t i = 0; i < t.size(); ++i) {
      const long double r = (stamp[i] - 1.7e9L) - (clock - 1.7e9L) - drift * t[i];
      sum += r * r / 2;
    }
    return sum;
  }
  // Returns the distance from the minimum in standard errors.
  double distance(double clock, double drift) const {
    long double n = 0, x = 0, xx = 0, y = 0, xy = 0;
    for (std::size_t i = 0; i < t.size(); ++i) {
      const long double s = stamp[i] - 1.7e9L;
      n += 1, x += t[i], xx += static_cast<long double>(t[i]) * t[i], y += s, xy += s * t[i];
    }
    const long double slope = (n * xy - x * y) / (n * xx - x * x), level = (y - slope * x) / n;
    const long double least = cost(1.7e9L + level, slope), above = cost(clock, drift) - least;
    return static_cast<double>(std::sqrt(std::max(above, 0.0L) / (least / (n - 2))));
  }
};

struct Solved {
  Certificate certificate;
  double distance;
};

Solved solved(const Stamps& data) {
  double clock[] = {1.7e9 + 2}, drift[] = {2};
  Problem problem;
  for (std::size_t i = 0; i < data.t.size(); ++i)
    problem.add_residual_block(Drift{data.t[i], data.stamp[i]}, nullptr, {clock, drift});
  const Summary summary = solve(problem);
  return {summary.certificate, data.distance(clock[0], drift[0])};
}

}  // namespace

TEST_CASE("noise of some last digits is fitted like any other") {
  int certified = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    const Stamps data(seed % 2 == 0 ? 1e-5 : 1e-4, 10 + static_cast<int>(seed % 4) * 30, seed);
    const Solved end = solved(data);
    CAPTURE(seed);
    if (!end.certificate.passed) continue;
    ++certified;
    CHECK(end.certificate.governed_by != "zero residual");
    CHECK(end.distance < 0.15);
  }
  CHECK(certified >= 55);
}

TEST_CASE("noise of few last digits is certified near the minimum or not at all") {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const Stamps data(3e-6, 10 + static_cast<int>(seed % 4) * 30, seed);
    const Solved end = solved(data);
    CAPTURE(seed);
    if (end.certificate.passed) CHECK(end.distance < 0.15);
  }
}

// The rounding errors of the rows at 1e30 counted as if the loss gave them their full weight.
TEST_CASE("rounding errors of rows to which a loss gives no weight do not make the others zero") {
  for (const double rate : {-2.6, -2.7, -2.8, -2.9, -3.0}) {
    CAPTURE(rate);
    double x[3] = {-300, rate, 5};
    Problem problem;
    for (int i = 0; i < 20; ++i) {
      const double t = 2.5 * i, y = 3 * std::exp(-0.7 * t) + 0.5 + 0.05 * std::sin(7.0 * i);
      problem.add_residual_block(
          [=](const auto* q) {
            using std::exp;
            return q[0] * exp(-q[1] * t) + q[2] - y;
          },
          Loss::huber(0.1), {x});
    }
    const Summary summary = solve(problem);
    CAPTURE(summary.message);
    CHECK((summary.final_cost < 1 || !is_success(summary.verdict)));
  }
}

TEST_CASE("residuals whose functions round more than their terms show are zero all the same") {
  double p[2] = {1.7, 0.8};
  Problem problem;
  for (int i = 0; i < 100; ++i) {
    const double t = 0.02 * i, height = 95 + 0.01 * i;
    problem.add_residual_block(
        [t, y = 2 * std::exp(-0.7 * t)](const auto* q) {
          using std::exp;
          return q[0] * exp(-q[1] * t) - y;
        },
        nullptr, {p});
    problem.add_residual_block(
        [height, y = std::exp(2.7)](const auto* q) {
          using std::exp;
          return exp(q[0] + height) * exp(q[1] - height) - y;
        },
        nullptr, {p});
  }
  const Summary summary = solve(problem);
  CAPTURE(summary.message);
  CHECK(summary.certificate.passed);
  CHECK(p[0] == doctest::Approx(2).epsilon(1e-12));
  CHECK(p[1] == doctest::Approx(0.7).epsilon(1e-12));
}

namespace {

struct Distance {
  double y = 0;
  template <class T>
  T operator()(const T* a, const T* b) const {
    using std::sqrt;
    const T dx = a[0] - b[0], dy = a[1] - b[1];
    return sqrt(dx * dx + dy * dy) - y;
  }
};

struct DistanceFrom {
  std::array<double, 2> place;
  double y = 0;
  template <class T>
  T operator()(const T* a) const {
    using std::sqrt;
    const T dx = a[0] - place[0], dy = a[1] - place[1];
    return sqrt(dx * dx + dy * dy) - y;
  }
};

}  // namespace

// The loop itself notices that the residuals are rounding errors. It need not wait until the cost falls to a
// fraction of the cost at the start.
TEST_CASE("networks of exact distances end where the residuals are rounding errors") {
  std::size_t solves = 0, iterations = 0, most = 0;
  for (const double size : {1.0, 1e3, 1e6}) {
    for (unsigned seed = 0; seed < 20; ++seed) {
      std::mt19937 random(seed);
      std::normal_distribution<double> noise;
      constexpr std::size_t kNodes = 20;
      const std::array<double, 2> places[] = {{5 * size, -4 * size}, {-6 * size, 3 * size}, {size, 7 * size}};
      std::array<double, 2> truth[kNodes], x[kNodes];
      for (std::size_t i = 0; i < kNodes; ++i) {
        for (int k = 0; k < 2; ++k) {
          truth[i][k] = size * noise(random);
          x[i][k] = truth[i][k] + 0.01 * size * noise(random);
        }
      }
      Problem problem;
      for (std::size_t i = 0; i < kNodes; ++i) {
        for (const std::size_t j : {(i + 1) % kNodes, (i + 2) % kNodes}) {
          const Distance measured{Distance{}(truth[i].data(), truth[j].data())};
          problem.add_residual_block(measured, nullptr, {x[i], x[j]});
        }
        for (const auto& place : places) {
          const DistanceFrom measured{place, DistanceFrom{place}(truth[i].data())};
          problem.add_residual_block(measured, nullptr, {x[i]});
        }
      }
      const Summary summary = solve(problem);
      CAPTURE(size);
      CAPTURE(seed);
      CAPTURE(summary.message);
      CHECK(is_success(summary.verdict));
      for (std::size_t i = 0; i < kNodes; ++i)
        for (int k = 0; k < 2; ++k) CHECK(std::fabs(x[i][k] - truth[i][k]) <= 1e-13 * size);
      ++solves;
      iterations += summary.iterations.size();
      most = std::max(most, summary.iterations.size());
    }
  }
  CHECK(iterations < 10 * solves);
  CHECK(most < 20);
}

namespace {

using Place = std::array<double, 3>;

// Measures the distance of a moved point from a plane, for small angles w: (p + w × p + t - q) · n.
struct FromPlane {
  Place p, q, n;
  template <class T>
  T operator()(const T* w, const T* t) const {
    return (p[0] + (w[1] * p[2] - w[2] * p[1]) + t[0] - q[0]) * n[0] +
           (p[1] + (w[2] * p[0] - w[0] * p[2]) + t[1] - q[1]) * n[1] +
           (p[2] + (w[0] * p[1] - w[1] * p[0]) + t[2] - q[2]) * n[2];
  }
};

struct Registered {
  Certificate certificate;
  bool success;
  double off;  // error of the angles
};

Registered registered(double angle, double noise, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> draw;
  const auto place = [&](double size) {
    return Place{size * draw(random), size * draw(random), size * draw(random)};
  };
  const Place truth = place(angle), shift = place(10 * angle);
  double w[3] = {}, t[3] = {};
  Problem problem;
  for (int i = 0; i < 60; ++i) {
    const Place p = place(10), n = place(0.6);
    Place q = place(noise);
    for (std::size_t k = 0; k < 3; ++k) {
      const std::size_t a = (k + 1) % 3, b = (k + 2) % 3;
      q[k] += p[k] + (truth[a] * p[b] - truth[b] * p[a]) + shift[k];
    }
    problem.add_residual_block(FromPlane{p, q, n}, nullptr, {w, t});
  }
  const Summary summary = solve(problem);
  double off = 0;
  for (std::size_t k = 0; k < 3; ++k) off = std::max(off, std::fabs(w[k] - truth[k]));
  return {summary.certificate, is_success(summary.verdict), off};
}

}  // namespace

// The angles are far smaller than the places, so first-order terms do not show how the residuals round.
TEST_CASE("exact places beside planes are registered at every angle, and noise is told from rounding") {
  for (const double angle : {1e-2, 1e-4, 1e-6}) {
    for (unsigned seed = 0; seed < 20; ++seed) {
      CAPTURE(angle);
      CAPTURE(seed);
      const Registered exact = registered(angle, 0, seed), noisy = registered(angle, 1e-9, seed);
      CHECK(exact.success);
      CHECK(exact.off <= 1e-14);
      CHECK(noisy.success);
      CHECK(noisy.certificate.governed_by != "zero residual");
    }
  }
}

namespace {

// Integrates an oscillator by many small steps, and compares it with its measured place and speed.
struct Swing {
  double time, place, speed;
  int steps;
  template <class T>
  bool operator()(const T* p, T* r) const {
    T x = p[0], v = p[1];
    const double step = time / steps;
    for (int i = 0; i < steps; ++i) {
      v = v - step * (p[2] * x);
      x = x + step * v;
    }
    r[0] = x - place;
    r[1] = v - speed;
    return true;
  }
};

}  // namespace

// A bound that assumes the same sign for all rounding errors grows exponentially with the number of steps.
TEST_CASE("noise beside a long recurrence is no rounding error") {
  constexpr double kNoise = 1e-9;
  const double truth[3] = {0.3, 0.8, 1.0};
  for (const double last : {20.0, 40.0}) {
    for (const double away : {1.0, 100.0, 1000.0}) {
      CAPTURE(last);
      CAPTURE(away);
      std::mt19937 random(3);
      std::normal_distribution<double> noise(0, kNoise);
      double p[3] = {truth[0], truth[1], truth[2]};
      Problem problem;
      for (int j = 1; j <= 30; ++j) {
        Swing swing{last * j / 30, 0, 0, static_cast<int>(std::lround(last * j / 1.5))};
        double r[2];
        swing(truth, r);
        swing.place = r[0] + noise(random), swing.speed = r[1] + noise(random);
        problem.add_residual_block<2>(swing, nullptr, {p});
      }
      CHECK(is_success(solve(problem).verdict));
      p[0] += away * kNoise / std::sqrt(30.0);
      const Summary beside = certify(problem);
      CHECK_FALSE(is_success(beside.verdict));
    }
  }
}

namespace {

using Point = std::array<double, 3>;

// Computes the distance vector of a point from a line, which is a point and a direction of length 1.
struct FromLine {
  Point p;
  template <class T>
  bool operator()(const T* line, T* r) const {
    const T x = p[0] - line[0], y = p[1] - line[1], z = p[2] - line[2];
    r[0] = y * line[5] - z * line[4];
    r[1] = z * line[3] - x * line[5];
    r[2] = x * line[4] - y * line[3];
    return true;
  }
};

double cost_of_line(const std::vector<Point>& points, const double* line) {
  double sum = 0, r[3];
  for (const Point& p : points) {
    FromLine{p}(line, r);
    for (const double e : r) sum += e * e / 2;
  }
  return sum;
}

Verdict solve_line(const std::vector<Point>& points, double* line) {
  Problem problem;
  problem.add_parameter_block(line, 6, line_manifold(3));
  for (const Point& p : points) problem.add_residual_block<3>(FromLine{p}, nullptr, {BlockRef(line)});
  return solve(problem).verdict;
}

}  // namespace

// The direction of a line has length 1, however far its point is from zero. When terms had the length of both
// together, residuals of any size looked like rounding errors: of 579 successes 31 were wrong, some at a
// thousand times the least cost.
TEST_CASE("the noise of points beside a line far from zero is not zero") {
  constexpr double kLocal[] = {0, 0, 0, 0.6, 0.64, 0.48};
  int successes = 0;
  for (const double offset : {0x1p14, 0x1p18, 0x1p22}) {
    for (unsigned seed = 1; seed <= 40; ++seed) {
      CAPTURE(offset);
      CAPTURE(seed);
      std::mt19937 random(seed);
      const auto draw = [&] { return static_cast<double>(random()) / 0x1p31 - 1; };
      const double noise = std::pow(10, -4 + 1.5 * draw()), slant[] = {draw(), draw(), draw()};
      std::vector<Point> far, near;
      for (int i = 0; i < 15; ++i) {
        const double along = 3 * draw();
        Point p, q;
        for (std::size_t k = 0; k < 3; ++k) {
          p[k] = offset + along * slant[k] + noise * draw();
          q[k] = p[k] - offset;  // this is exact
        }
        far.push_back(p);
        near.push_back(q);
      }
      double least[6], line[6];
      std::copy_n(kLocal, 6, least);
      std::copy_n(kLocal, 6, line);
      CHECK(is_success(solve_line(near, least)));
      if (!is_success(solve_line(far, line))) continue;
      ++successes;
      for (std::size_t k = 0; k < 3; ++k) line[k] -= offset;
      const double best = cost_of_line(near, least), freedom = 3 * 15 - 4;
      // This is within a tenth of a standard error.
      CHECK(cost_of_line(near, line) < best * (1 + 0.015 / freedom) + 1e-30);
    }
  }
  CHECK(successes > 60);
}
