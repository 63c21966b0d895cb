// Tests derivatives in f64 that are evaluated again instead of kept (solver/blocks/windows/). Answers must
// have the same bits, and the user's functions must not be called more often.
#include "blocks/windows/record_windows.hpp"

#include <nlsq/covariance.hpp>
#include <nlsq/manifold.hpp>
#include <nlsq/problem.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

class RuleFor {
 public:
  explicit RuleFor(const WindowRule& rule) { window_rule() = rule; }
  ~RuleFor() { window_rule() = before_; }

 private:
  WindowRule before_ = window_rule();
};
const WindowRule kNone{.least_numbers = std::numeric_limits<std::size_t>::max()};
const WindowRule kWindows{.least_numbers = 0, .window_numbers = 40};

// Measures a distance in the plane. Beyond `far` it has another scale, so that blocks leave their program.
struct Distance {
  double measured, far;
  int* calls;
  template <class T>
  bool operator()(const T* a, const T* b, T* r) const {
    using std::sqrt;
    ++*calls;
    const T d = sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]));
    if (d > far) r[0] = 0.5 * (d - measured);
    else r[0] = d - measured;
    return true;
  }
};
struct DistanceInDouble {
  Distance of;
  bool operator()(const double* a, const double* b, double* r) const { return of(a, b, r); }
};

// Holds some anchors, and points that are each seen from a few of them.
struct Scene {
  std::vector<std::array<double, 2>> anchors, points;
  int calls = 0;
  Problem problem;

  template <class F>
  void make(double far, bool bounded) {
    for (int i = 0; i < 6; ++i) anchors.push_back({std::cos(1.0 * i), std::sin(1.0 * i) + 0.1 * i});
    for (int i = 0; i < 60; ++i) points.push_back({0.4 * std::sin(0.7 * i), 0.3 * std::cos(1.3 * i)});
    for (std::size_t p = 0; p < points.size(); ++p) {
      for (std::size_t a = 0; a < anchors.size(); a += 1 + p % 2) {
        const double off = 0.05 * std::sin(3.0 * static_cast<double>(p + 7 * a));
        const double d = std::hypot(anchors[a][0] - points[p][0], anchors[a][1] - points[p][1]) + off;
        problem.add_residual_block<1>(F{Distance{d, far, &calls}}, p % 3 == 0 ? Loss::huber(0.03) : Loss(),
                                      {anchors[a], points[p]});
      }
    }
    problem.set_constant(anchors[0].data());
    problem.set_manifold(anchors[1].data(), subset_manifold(2, {1}));
    if (bounded) problem.set_lower_bound(points[5].data(), 0, points[5][0] + 0.02);
  }
};

struct Answer {
  double cost;
  std::vector<std::array<double, 2>> points;
  int calls;
  std::vector<double> covariance;
};

template <class F>
Answer answer(const WindowRule& rule, double far, bool bounded, const char* policy) {
  const RuleFor in_force(rule);
  Scene scene;
  scene.make<F>(far, bounded);
  SolverOptions options;
  options.precision = PrecisionPolicy::parse(policy);
  options.threads = 1;
  const Summary summary = solve(scene.problem, options);
  Answer out{summary.final_cost, scene.points, scene.calls, {}};
  CovarianceOptions one;
  one.threads = 1;
  const Matrix joint =
      covariance(scene.problem, {scene.points[3].data(), scene.anchors[2].data()}, one).joint();
  for (std::size_t i = 0; i < joint.rows(); ++i) {
    for (std::size_t j = 0; j < joint.columns(); ++j) out.covariance.push_back(joint(i, j));
  }
  return out;
}

template <class F>
void compare(double far, bool bounded, const char* policy) {
  answer<F>(kNone, far, bounded, policy);  // the first program of a kind is compared with its function
  const Answer kept = answer<F>(kNone, far, bounded, policy),
               again = answer<F>(kWindows, far, bounded, policy);
  CHECK(again.cost == kept.cost);
  CHECK(again.points == kept.points);
  CHECK(again.calls == kept.calls);
  CHECK(again.covariance == kept.covariance);
}

}  // namespace

TEST_CASE("Derivatives that are evaluated again: the same answer, covariance and number of calls") {
  for (const double far : {100.0, 1.0}) {
    for (const bool bounded : {false, true}) {
      for (const char* policy : {"auto", "f64"}) {
        CAPTURE(far);
        CAPTURE(bounded);
        CAPTURE(std::string(policy));
        compare<Distance>(far, bounded, policy);
        compare<DistanceInDouble>(far, bounded, policy);
      }
    }
  }
}
