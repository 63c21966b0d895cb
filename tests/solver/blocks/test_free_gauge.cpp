// Tests some hundred unknowns of which the data leave a few directions free, such as the place of a whole
// map. The factor of JᵀJ finds these, and only what JᵀJ cannot show is left to QR of all rows.
#include <bal.hpp>
#include <nlsq/problem.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

using namespace nlsq;

namespace {

struct Link {
  double step;
  template <class T>
  T operator()(const T* a, const T* b) const {
    const T d = b[0] - a[0];
    return d + 0.01 * d * d - step;
  }
};

struct Anchor {
  double weight;
  template <class T>
  T operator()(const T* a) const {
    return weight * (a[0] - 1.0);
  }
};

// Solves for chains of 60 places each. The first place of the first chain has an anchor of this weight, if it
// is above 0.
Summary solve_chains(std::size_t chains, double weight) {
  constexpr std::size_t kPlaces = 60;
  std::vector<std::array<double, 1>> x(chains * kPlaces);
  for (std::size_t i = 0; i < x.size(); ++i) x[i][0] = 1.1 * static_cast<double>(i % kPlaces);
  Problem problem;
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (const std::size_t apart : {1, 2}) {
      if (i % kPlaces < apart) continue;
      const double step = static_cast<double>(apart) + 0.1 * std::sin(static_cast<double>(apart * i));
      problem.add_residual_block(Link{step}, nullptr, {x[i - apart], x[i]});
    }
  }
  if (weight > 0) problem.add_residual_block(Anchor{weight}, nullptr, {x[0]});
  return solve(problem);
}

}  // namespace

TEST_CASE("A free gauge is found without QR, whatever the number of free directions") {
  for (const std::size_t chains : {2, 5, 8, 9, 12}) {
    const Summary free = solve_chains(chains, 0);
    CAPTURE(free.message);
    CHECK(free.verdict == Verdict::rank_deficient);
    CHECK(free.certificate.rank == static_cast<int>(chains * 59));
    CHECK(free.certificate.condition == std::numeric_limits<double>::infinity());
    CHECK_FALSE(free.certificate.qr);
  }
}

TEST_CASE("A weak anchor determines the gauge until its row is lost in rounding") {
  for (const double weight : {1e-3, 1e-6, 1e-8, 1e-10, 1e-16}) {
    const Summary held = solve_chains(3, weight);
    CAPTURE(weight);
    CAPTURE(held.message);
    CHECK(held.verdict == Verdict::rank_deficient);
    CHECK(held.certificate.rank == (weight > 1e-14 ? 178 : 177));
  }
}

namespace {

// Solves for cameras and points of which the data leave seven directions free: place, orientation and size of
// the scene.
Summary adjust(unsigned seed, const SolverOptions& options) {
  bal::Problem scene = bal::generate(10, 300, 1500, seed);
  Problem problem;
  for (int c = 0; c < scene.cameras; ++c) problem.add_parameter_block(scene.camera(c), 9);
  for (int p = 0; p < scene.points; ++p) problem.add_parameter_block(scene.point(p), 3);
  for (const bal::Observation& o : scene.observations) {
    problem.add_residual_block<2>(bal::Reprojection{o.x, o.y}, nullptr,
                                  {scene.camera(o.camera), scene.point(o.point)});
  }
  return solve(problem, options);
}

}  // namespace

TEST_CASE("Steps along a free gauge do not keep the solve from ending") {
  for (const unsigned seed : {1U, 2U, 3U}) {
    const Summary whole = adjust(seed, {});
    CAPTURE(whole.message);
    CHECK(whole.verdict == Verdict::rank_deficient);
    CHECK(whole.certificate.rank == 10 * 9 + 300 * 3 - 7);
    CHECK(whole.certificate.decrement_sigma <= 1e-6);
    CHECK(whole.accepted + whole.rejected <= 8);
  }
}

TEST_CASE("Weak directions are not examined far from the optimum, where a limit ends the solve") {
  SolverOptions one_step;
  one_step.max_iterations = 1;
  const Summary stopped = adjust(1, one_step);
  CAPTURE(stopped.message);
  CHECK(stopped.verdict == Verdict::budget);
  CHECK(stopped.certificate.decrement_sigma > 0.1);
  CHECK(stopped.certificate.rank == -1);
}
