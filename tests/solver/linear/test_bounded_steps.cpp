// Tests steps within bounds against all active sets tried one by one, and against the conditions that the
// minimum satisfies.
#include "linear/linear_solver.hpp"

#include <doctest/doctest.h>

#include <Eigen/Core>

#include <cmath>
#include <limits>
#include <random>

#include "decompositions.hpp"
#include "tables.hpp"

using namespace nlsq;
using tables::Table;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Room {
  Vector lower, upper;
  Box box() const { return {lower, upper}; }
};

// Returns bounds at 0, near, far and at infinity, some of which are equal.
Room random_room(std::size_t n, double size, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  Room room;
  for (std::size_t j = 0; j < n; ++j) {
    const auto side = [&] {
      const double kind = uniform(random);
      if (kind < 0.3) return 0.0;
      if (kind < 0.5) return kInfinity;
      return size * std::pow(10, 2 * uniform(random) - 1.5);
    };
    room.lower.push_back(-side());
    room.upper.push_back(side());
  }
  return room;
}

struct System {
  Eigen::MatrixXd K;  // D⁻¹JᵀJD⁻¹ + λ, or JᵀJ + λD² for unscaled steps
  Eigen::VectorXd g;
};
System system_of(const Linearization& at, const Vector& scale, double lambda) {
  const auto n = static_cast<Eigen::Index>(scale.size());
  System s{Eigen::MatrixXd(n, n), Eigen::VectorXd(n)};
  for (Eigen::Index i = 0; i < n; ++i) {
    s.g[i] = at.gradient[static_cast<std::size_t>(i)];
    for (Eigen::Index j = 0; j < n; ++j)
      s.K(i, j) = at.normal(static_cast<std::size_t>(i), static_cast<std::size_t>(j));
    s.K(i, i) += lambda * std::pow(scale[static_cast<std::size_t>(i)], 2);
  }
  return s;
}
double model(const System& s, const Eigen::VectorXd& step) {
  return s.g.dot(step) + 0.5 * step.dot(s.K * step);
}

// Scales columns to unit length, so that steps are multiplied by their lengths.
System scaled(System s, Room& room) {
  for (Eigen::Index j = 0; j < s.g.size(); ++j) {
    const double d = std::sqrt(s.K(j, j));
    s.K.row(j) /= d;
    s.K.col(j) /= d;
    s.g[j] /= d;
    room.lower[static_cast<std::size_t>(j)] *= d;
    room.upper[static_cast<std::size_t>(j)] *= d;
  }
  return s;
}

// Returns the least value over all assignments of parameters to their lower bound, their upper one, or
// neither.
double least_by_enumeration(const System& unscaled, Room room) {
  const System s = scaled(unscaled, room);
  const auto n = s.g.size();
  double best = kInfinity;
  int count = 1;
  for (Eigen::Index j = 0; j < n; ++j) count *= 3;
  for (int code = 0; code < count; ++code) {
    Eigen::MatrixXd K = s.K;
    Eigen::VectorXd right = -s.g;
    int rest = code;
    bool possible = true;
    for (Eigen::Index j = 0; j < n; ++j, rest /= 3) {
      if (rest % 3 == 0) continue;
      const double bound =
          rest % 3 == 1 ? room.lower[static_cast<std::size_t>(j)] : room.upper[static_cast<std::size_t>(j)];
      possible = possible && std::isfinite(bound);
      K.row(j).setZero();
      K(j, j) = 1;
      right[j] = bound;
    }
    if (!possible) continue;
    const Eigen::VectorXd step = decompositions::solve(K, right);
    for (Eigen::Index j = 0; j < n; ++j) {
      const double slack = 1e-12 * std::fabs(step[j]);
      possible = possible && step[j] >= room.lower[static_cast<std::size_t>(j)] - slack &&
                 step[j] <= room.upper[static_cast<std::size_t>(j)] + slack;
    }
    if (possible) best = std::min(best, model(s, step));
  }
  return best;
}

// Checks that the step is within the bounds and that the model falls in no direction.
void check_minimum(const System& s, const Room& room, const Step& step, double tolerance) {
  const Eigen::VectorXd at = Eigen::Map<const Eigen::VectorXd>(step.step.data(), s.g.size());
  const Eigen::VectorXd slope = s.g + s.K * at;
  for (std::size_t j = 0; j < step.step.size(); ++j) {
    const auto k = static_cast<Eigen::Index>(j);
    const double size = std::fabs(s.g[k]) + std::sqrt(s.K(k, k)) * std::sqrt(at.dot(s.K * at)),
                 slack = tolerance * size;
    CHECK((step.step[j] >= room.lower[j] && step.step[j] <= room.upper[j]));
    const Held held = step.held.empty() ? Held::none : step.held[j];
    if (held == Held::none) CHECK(std::fabs(slope[k]) <= slack);
    if (held == Held::lower) CHECK(step.step[j] == room.lower[j]);
    if (held == Held::upper) CHECK(step.step[j] == room.upper[j]);
    if (room.lower[j] == room.upper[j]) continue;
    if (held == Held::lower) CHECK(slope[k] >= -slack);
    if (held == Held::upper) CHECK(slope[k] <= slack);
  }
}

}  // namespace

TEST_CASE("the bounded step is the least of all active sets', by Cholesky and by QR") {
  int bounded = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    const std::size_t n = 1 + seed % 5;
    Table t = Table::random(40, n, seed + 1);
    if (n > 1 && seed % 3 == 0) {  // columns are nearly dependent and of many sizes
      for (std::size_t i = 0; i < t.m; ++i) t.columns[1][i] = t.columns[0][i] + 1e-3 * t.columns[1][i];
    }
    if (seed % 2 == 0) {
      for (std::size_t j = 0; j < n; ++j) {
        for (double& v : t.columns[j]) v *= std::pow(100, static_cast<double>(j));
      }
    }
    const Room room = random_room(n, 0.3, seed);
    for (const double lambda : {0.0, 1e-3, 1.0}) {
      for (const bool qr : {false, true}) {
        CAPTURE(seed);
        CAPTURE(lambda);
        CAPTURE(qr);
        const Linearization at = linearized(t, qr);
        const Vector scale = column_norms(at);
        LinearSolver solver(at, scale);
        solver.keep_within(room.box());
        const Step step = solver.solve(lambda);
        REQUIRE(step.factored);
        const System s = system_of(at, scale, lambda);
        check_minimum(s, room, step, 1e-9);
        const double found = model(s, Eigen::Map<const Eigen::VectorXd>(step.step.data(), s.g.size()));
        CHECK(found <= least_by_enumeration(s, room) + 1e-10 * at.cost);  // the slack allows this gain
        CHECK(step.nu * step.nu == doctest::Approx(-2 * found).epsilon(1e-9));
        const double undamped =
            model(system_of(at, scale, 0), Eigen::Map<const Eigen::VectorXd>(step.step.data(), s.g.size()));
        CHECK(std::fabs(step.predicted + undamped) <= 1e-11 * at.cost);
        bounded += !step.held.empty();
      }
    }
  }
  CHECK(bounded > 1000);
}

TEST_CASE("many parameters: the conditions of the minimum hold, whatever was tried on the way") {
  for (const std::size_t n : {12u, 40u, 90u}) {
    for (unsigned seed = 0; seed < 8; ++seed) {
      CAPTURE(n);
      CAPTURE(seed);
      Table t = Table::random(120, n, seed + 50);
      // All columns share one direction, which makes the set hardest to guess.
      for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t i = 0; i < t.m; ++i) t.columns[j][i] += 3 * t.columns[n][(i * 7 + seed) % t.m];
      }
      const Room room = random_room(n, 0.05, seed);
      for (const bool qr : {false, true}) {
        const Linearization at = linearized(t, qr);
        const Vector scale = column_norms(at);
        LinearSolver solver(at, scale);
        solver.keep_within(room.box());
        for (const double lambda : {1.0, 1e-2, 1e-6}) {  // each begins with the set of the one before
          const Step step = solver.solve(lambda);
          REQUIRE(step.factored);
          check_minimum(system_of(at, scale, lambda), room, step, 1e-9);
        }
      }
    }
  }
}

TEST_CASE("bounds that a step does not reach change no bit of it") {
  const Table t = Table::random(60, 4, 5);
  for (const bool qr : {false, true}) {
    const Linearization at = linearized(t, qr);
    const Vector scale = column_norms(at);
    LinearSolver free(at, scale), bounded(at, scale);
    const Vector lower(4, -100.0), upper(4, 100.0);
    bounded.keep_within({lower, upper});
    const Step a = free.solve(1e-3), b = bounded.solve(1e-3);
    CHECK(a.step == b.step);
    CHECK(a.predicted == b.predicted);
    CHECK(a.nu == b.nu);
    CHECK(a.condition == b.condition);
    CHECK(b.held.empty());
  }
}

TEST_CASE("columns that only a bound tells apart are solved for") {
  Table t = Table::random(50, 2, 9);
  t.columns[1] = t.columns[0];  // together they are singular
  const Linearization at = linearized(t);
  const Vector scale = column_norms(at);
  LinearSolver solver(at, scale);
  // The second parameter cannot follow its gradient, so it is held where it is.
  const bool falls_below = at.gradient[0] > 0;
  const Vector lower{-kInfinity, falls_below ? 0 : -kInfinity}, upper{kInfinity, falls_below ? kInfinity : 0};
  solver.keep_within({lower, upper});
  const Step step = solver.solve(0);
  REQUIRE(step.factored);
  CHECK(step.step[1] == 0);
  CHECK(step.step[0] == doctest::Approx(-at.gradient[0] / at.normal(0, 0)));
}

TEST_CASE("norms and inverses are those of the parameters that are free") {
  const Table t = Table::random(80, 3, 11);
  const Linearization at = linearized(t);
  const Vector scale = column_norms(at);
  const Vector lower{-kInfinity, 0, -kInfinity}, upper{kInfinity, 0, kInfinity};
  LinearSolver solver(at, scale);
  solver.keep_within({lower, upper});
  const Step step = solver.solve(0);
  REQUIRE(step.factored);
  Table part = t;
  part.columns.erase(part.columns.begin() + 1);
  part.n = 2;
  const Linearization two = linearized(part);
  LinearSolver alone(two, {scale[0], scale[2]});
  const Step expected = alone.solve(0);
  CHECK(step.step[0] == doctest::Approx(expected.step[0]).epsilon(1e-12));
  CHECK(step.step[1] == 0);
  CHECK(step.step[2] == doctest::Approx(expected.step[1]).epsilon(1e-12));
  CHECK(step.nu == doctest::Approx(expected.nu).epsilon(1e-12));
  CHECK(solver.norm_in_metric({1, 5, 2}) == doctest::Approx(alone.norm_in_metric({1, 2})).epsilon(1e-12));
  CHECK(solver.apply_inverse({1, 5, 2})[1] == 0);
  CHECK(solver.apply_inverse({1, 5, 2})[2] == doctest::Approx(alone.apply_inverse({1, 2})[1]).epsilon(1e-12));
}
