// Generates curves far from zero and computes their distance from the minimum.
#include "offset_problems.hpp"

#include "noise.hpp"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace problems {

namespace {

constexpr double kUnixTime = 1700000000;

double decade(Noise& noise, double low, double high) { return std::pow(10.0, noise.uniform(low, high)); }

// Value and derivatives by the parameters, in the order of the formula. x is relative to its origin, and c to
// that of y.
struct Value {
  double f = 0;
  std::array<double, 4> slope{};
};

Value value(OffsetShape shape, double t, const std::array<double, 4>& p) {
  Value out;
  const double a = p[0];
  switch (shape) {
    case OffsetShape::sine: {
      const double s = std::sin(p[1] * t + p[2]), c = std::cos(p[1] * t + p[2]);
      return {a * s + p[3], {s, a * c * t, a * c, 1}};
    }
    case OffsetShape::decay: {
      const double e = std::exp(-p[1] * t);
      return {a * e + p[2], {e, -a * e * t, 1, 0}};
    }
    case OffsetShape::gaussian: {
      const double u = (t - p[1]) / p[2], e = std::exp(-u * u);
      return {a * e + p[3], {e, 2 * a * e * u / p[2], 2 * a * e * u * u / p[2], 1}};
    }
    case OffsetShape::lorentzian: {
      const double u = (t - p[1]) / p[2], q = 1 / (1 + u * u);
      return {a * q + p[3], {q, 2 * a * q * q * u / p[2], 2 * a * q * q * u * u / p[2], 1}};
    }
  }
  return out;
}

std::size_t count(OffsetShape shape) { return shape == OffsetShape::decay ? 3 : 4; }
bool has_centre(OffsetShape shape) {
  return shape == OffsetShape::gaussian || shape == OffsetShape::lorentzian;
}

std::string equation(OffsetShape shape, bool unix_times) {
  const char* x = unix_times ? "(x-1700000000)" : "x";
  switch (shape) {
    case OffsetShape::sine: return fmt::format("a*sin(w*{}+p)+c", x);
    case OffsetShape::decay: return fmt::format("a*exp(-b*{})+c", x);
    case OffsetShape::gaussian: return "a*exp(-((x-m)/s)^2)+c";
    default: return "a/(1+((x-m)/s)^2)+c";
  }
}

// Holds the true parameters and the starting values.
struct Curve {
  std::array<double, 4> truth{}, start{};
};

Curve curve(OffsetShape shape, double span, double height, Noise& noise) {
  Curve out;
  auto& [truth, start] = out;
  truth[0] = height;
  start[0] = height * decade(noise, -0.3, 0.3);
  if (shape == OffsetShape::sine) {
    const double cycle = 2 * std::numbers::pi / span;
    truth[1] = noise.uniform(1, 8) * cycle;
    truth[2] = noise.uniform(-1, 1);
    start[1] = truth[1] + noise.uniform(-0.35, 0.35) * cycle;
    start[2] = truth[2] + noise.uniform(-0.5, 0.5);
  } else if (shape == OffsetShape::decay) {
    truth[1] = noise.uniform(1, 8) / span;
    start[1] = truth[1] * decade(noise, -0.3, 0.3);
  } else {
    truth[1] = noise.uniform(0.25, 0.75) * span;
    truth[2] = noise.uniform(0.02, 0.15) * span;
    start[1] = truth[1] + noise.uniform(-0.7, 0.7) * truth[2];
    start[2] = truth[2] * noise.uniform(0.6, 1.6);
  }
  return out;
}

// Returns the starting value of the constant: zero, or a guess.
double constant_start(double offset, double height, Noise& noise) {
  switch (noise.below(3)) {
    case 0: return 0;
    case 1: return std::round(offset / height) * height;
    default: return offset * (1 + noise.uniform(-1e-3, 1e-3));
  }
}

}  // namespace

OffsetProblem offset_problem(std::uint64_t seed, std::uint64_t index, std::size_t rows) {
  Noise noise(seed * 1000003 + index);
  OffsetProblem out;
  out.shape = static_cast<OffsetShape>(index % 4);
  const bool unix_times = index / 4 % 4 == 3;
  const double span = unix_times ? decade(noise, 1, 6) : 10;
  const double height = 2 * decade(noise, -1, 1);
  out.x_origin = unix_times ? kUnixTime : 0;
  const double size = unix_times ? (noise.below(2) == 0 ? 0 : decade(noise, 0, 8)) : decade(noise, 3, 12);
  out.y_origin = std::round(noise.below(4) == 0 ? -size : size);
  out.sigma = height * decade(noise, -3, -0.5);
  Curve c = curve(out.shape, span, height, noise);
  const std::size_t n = count(out.shape), last = n - 1;
  c.truth[last] = noise.uniform(-1, 1) * height;

  Problem& p = out.problem;
  p.equation = equation(out.shape, unix_times);
  p.name = fmt::format("{} on {:.1e}{}, noise {:.0e}, case {}", p.equation, out.y_origin,
                       unix_times ? fmt::format(" over {:.0e} s", span) : "", out.sigma / height, index);
  p.x.resize(1);
  for (std::size_t i = 0; i < rows; ++i) {
    const double x = out.x_origin + span * static_cast<double>(i) / static_cast<double>(rows - 1);
    p.x[0].push_back(x);
    p.y.push_back(out.y_origin +
                  (value(out.shape, x - out.x_origin, c.truth).f + out.sigma * noise.normal()));
  }
  c.start[last] = constant_start(out.y_origin, height, noise);
  if (has_centre(out.shape)) c.start[1] += out.x_origin;
  const std::vector<std::string> names = parsed(p).parameters;
  for (std::size_t j = 0; j < n; ++j) p.p0.emplace_back(names[j], c.start[j]);
  return out;
}

OffsetDistance distance(const OffsetProblem& problem, const std::vector<double>& parameters) {
  const std::size_t n = count(problem.shape), rows = problem.problem.rows();
  std::array<double, 4> p{};
  for (std::size_t j = 0; j < n; ++j) p[j] = parameters[j];
  p[n - 1] -= problem.y_origin;
  if (has_centre(problem.shape)) p[1] -= problem.x_origin;
  const auto size = static_cast<Eigen::Index>(n);
  Eigen::MatrixXd H = Eigen::MatrixXd::Zero(size, size);
  Eigen::VectorXd g = Eigen::VectorXd::Zero(size);
  OffsetDistance out;
  for (std::size_t i = 0; i < rows; ++i) {
    const Value v = value(problem.shape, problem.problem.x[0][i] - problem.x_origin, p);
    const double r = v.f - (problem.problem.y[i] - problem.y_origin);
    out.cost += 0.5 * r * r;
    for (Eigen::Index j = 0; j < size; ++j) {
      g[j] += v.slope[static_cast<std::size_t>(j)] * r;
      for (Eigen::Index k = 0; k <= j; ++k)
        H(j, k) += v.slope[static_cast<std::size_t>(j)] * v.slope[static_cast<std::size_t>(k)];
    }
  }
  Eigen::VectorXd scale = H.diagonal().cwiseSqrt().cwiseInverse();
  if (!scale.allFinite()) return {out.cost, std::numeric_limits<double>::infinity()};
  for (Eigen::Index j = 0; j < size; ++j) {
    for (Eigen::Index k = 0; k <= j; ++k) H(j, k) *= scale[j] * scale[k];
  }
  Eigen::VectorXd z = g.cwiseProduct(scale);
  H.triangularView<Eigen::StrictlyUpper>() = H.transpose();
  const double squares = z.dot(H.ldlt().solve(z)), sigma2 = 2 * out.cost / static_cast<double>(rows - n);
  out.standard_errors = std::sqrt(squares / sigma2);
  return out;
}

}  // namespace problems
