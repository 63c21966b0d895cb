// Tests residual blocks that depend on many small parameter blocks each: points beside a closed polygon,
// whose control points are all arguments of every block. Only two have derivatives other than 0.
#include "blocks/block_structure.hpp"

#include <nlsq/problem.hpp>
#include "kernels/block_kernels.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <memory>
#include <numbers>
#include <random>
#include <vector>

using namespace nlsq;

namespace {

class Beside final : public BlockFunction {
 public:
  Beside(int corners, double x, double y) : BlockFunction(2), corners_(corners), x_(x), y_(y) {}
  Derivatives derivatives_by() const override { return Derivatives::own; }
  const void* kind() const override {
    static const char tag = 0;
    return &tag;
  }
  bool value(const double* const* p, double* r) const override { return derivatives(p, r, nullptr); }
  bool derivatives(const double* const* p, double* r, double* const* J) const override {
    double t = std::fmod(p[0][0], corners_);
    if (t < 0) t += corners_;
    const int from = std::min(static_cast<int>(t), corners_ - 1), to = (from + 1) % corners_;
    const double u = t - from, *a = p[1 + from], *b = p[1 + to];
    r[0] = x_ - (1 - u) * a[0] - u * b[0];
    r[1] = y_ - (1 - u) * a[1] - u * b[1];
    if (!J) return true;
    if (J[0]) J[0][0] = a[0] - b[0], J[0][1] = a[1] - b[1];
    for (int k = 0; k < corners_; ++k) {
      if (!J[1 + k]) continue;
      const double share = k == from ? u - 1 : k == to ? -u : 0;
      J[1 + k][0] = J[1 + k][3] = share;
      J[1 + k][1] = J[1 + k][2] = 0;
    }
    return true;
  }

 private:
  int corners_;
  double x_, y_;
};

struct Apart {
  double weight;
  template <class T>
  bool operator()(const T* a, const T* b, T* r) const {
    for (int k = 0; k < 2; ++k) r[k] = weight * (a[k] - b[k]);
    return true;
  }
};

// This is a contour whose numbers are at separate addresses.
struct Contour {
  std::vector<double> t, corner;
  std::vector<std::array<double, 2>> seen;
  std::vector<ResidualBlockId> points;
  Problem problem;

  Contour(int corners, int observations)
      : t(static_cast<std::size_t>(observations)), corner(2 * static_cast<std::size_t>(corners)) {
    std::mt19937 random(3);
    const auto uniform = [&] { return static_cast<double>(random()) / 4294967296.0; };
    for (int k = 0; k < corners; ++k) {
      const double angle = 2 * std::numbers::pi * k / corners;
      corner[2 * static_cast<std::size_t>(k)] = 2 * std::cos(angle);
      corner[2 * static_cast<std::size_t>(k) + 1] = 2 * std::sin(angle);
    }
    for (double& place : t) {
      const double turn = uniform();
      place = corners * turn;
      seen.push_back({3 * std::cos(2 * std::numbers::pi * turn) + 0.02 * (uniform() - 0.5),
                      1.5 * std::sin(2 * std::numbers::pi * turn)});
    }
    for (std::size_t i = 0; i < t.size(); ++i) {
      std::vector<BlockRef> blocks;
      for (std::size_t k = 0; k <= static_cast<std::size_t>(corners); ++k) {
        blocks.emplace_back(k == 0 ? &t[i] : &corner[2 * k - 2]);
        blocks.back().size = k == 0 ? 1 : 2;
      }
      points.push_back(problem.add_residual_block(std::make_shared<Beside>(corners, seen[i][0], seen[i][1]),
                                                  Loss(), blocks));
    }
    for (std::size_t k = 0; k < static_cast<std::size_t>(corners); ++k) {
      const std::size_t next = (k + 1) % static_cast<std::size_t>(corners);
      problem.add_residual_block<2>(
          Apart{0.1}, Loss(), {std::span(corner).subspan(2 * k, 2), std::span(corner).subspan(2 * next, 2)});
    }
  }
};

// Returns the largest derivative of the cost, by differences.
double largest_slope(Contour& c) {
  double largest = 0;
  const double h = 1e-6;
  for (std::vector<double>* numbers : {&c.t, &c.corner}) {
    for (double& v : *numbers) {
      const double at = v;
      v = at + h;
      const double above = c.problem.evaluate().cost;
      v = at - h;
      const double below = c.problem.evaluate().cost;
      v = at;
      largest = std::max(largest, std::fabs(above - below) / (2 * h));
    }
  }
  return largest;
}

}  // namespace

TEST_CASE("Control points that nearly the same residual blocks depend on are eliminated several at a time") {
  Contour contour(150, 200);
  contour.problem.impl().close_gaps();
  const BlockStructure structure(contour.problem.impl(), block_kernels().lanes_f32,
                                 block_kernels().lanes_f64);
  // This counts pairs of cells of 200 residual blocks. With 151 cells in each they would be 11,476 times as
  // many.
  CHECK(structure.pairs <= 200 * 400);
  CHECK(structure.zeros_in_records);
  CHECK(structure.tangent_size() == 200 + 300);
}

TEST_CASE("Blocks of a few parameter blocks are taken as they are: nothing is padded") {
  std::vector<double> x(20, 1.0);
  Problem problem;
  for (std::size_t k = 0; k + 1 < 10; ++k) {
    problem.add_residual_block<2>(Apart{1}, Loss(),
                                  {std::span(x).subspan(2 * k, 2), std::span(x).subspan(2 * k + 2, 2)});
  }
  problem.impl().close_gaps();
  const BlockStructure structure(problem.impl(), block_kernels().lanes_f32, block_kernels().lanes_f64);
  CHECK_FALSE(structure.zeros_in_records);
}

TEST_CASE("They end at a minimum, and again after blocks have gone, with the bits of a problem made anew") {
  Contour contour(20, 60), fresh(20, 60);
  SolverOptions options;
  options.threads = 1;
  solve(contour.problem, options);
  CHECK(largest_slope(contour) <= 1e-6);

  for (std::size_t gone : {3, 17}) {
    contour.problem.remove_residual_block(contour.points[gone]);
    fresh.problem.remove_residual_block(fresh.points[gone]);
  }
  fresh.t = contour.t;
  fresh.corner = contour.corner;
  const Summary again = solve(contour.problem, options), anew = solve(fresh.problem, options);
  CHECK(again.final_cost == anew.final_cost);
  CHECK(contour.corner == fresh.corner);
  CHECK(largest_slope(contour) <= 1e-6);
}
