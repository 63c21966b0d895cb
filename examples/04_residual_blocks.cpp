// 4. Residual blocks: the positions of eight radio nodes from measured distances between them.
//
// A problem of many small parts has parameter blocks, and residuals that each depend on a few of them. A
// functor is written once, generic in its scalar, in the form that Ceres uses. Derivatives are computed
// automatically.
#include <nlsq/nlsq.hpp>

#include <array>
#include <cmath>
#include <cstdio>

namespace {

// Computes the distance between two nodes minus the measured one, in units of the measurement error.
struct Distance {
  double measured, error;

  template <class T>
  bool operator()(const T* a, const T* b, T* residual) const {
    using std::hypot;
    residual[0] = (hypot(a[0] - b[0], a[1] - b[1]) - measured) / error;
    return true;
  }
};

}  // namespace

int main() {
  // The true positions, on a square of 10 m, from which the measurements are simulated. Two of the 28
  // distances are badly wrong, reflected by a wall.
  const std::array<std::array<double, 2>, 8> truth{
      {{0, 0}, {10, 0}, {10, 10}, {0, 10}, {5, 0}, {10, 5}, {5, 10}, {0, 5}}};

  // The unknowns, from a rough start. Each node is a parameter block of two numbers.
  std::array<std::array<double, 2>, 8> nodes = truth;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    nodes[i][0] += 0.7 * std::sin(3.0 * static_cast<double>(i)), nodes[i][1] -= 0.4;

  nlsq::Problem problem;
  int made = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j, ++made) {
      double distance =
          std::hypot(truth[i][0] - truth[j][0], truth[i][1] - truth[j][1]) + 0.02 * std::sin(37.0 * made);
      if (made == 5 || made == 17) distance += 4;
      // One residual with a loss that reduces the weight of outliers, on two blocks.
      problem.add_residual_block<1>(Distance{distance, 0.02}, nlsq::Loss::cauchy(2), {nodes[i], nodes[j]});
    }
  }
  // Distances do not determine the position and orientation of the whole. One node is therefore fixed, and
  // one coordinate of another.
  nodes[0] = truth[0];
  nodes[1][1] = truth[1][1];
  problem.set_constant(nodes[0].data());
  problem.set_manifold(nodes[1].data(), nlsq::subset_manifold(2, {1}));

  const nlsq::Summary summary = nlsq::solve(problem);

  double worst = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::printf("node %zu at (%6.3f, %6.3f)\n", i, nodes[i][0], nodes[i][1]);
    worst = std::fmax(worst, std::hypot(nodes[i][0] - truth[i][0], nodes[i][1] - truth[i][1]));
  }
  std::printf("worst error %.3f m, two of %d distances wrong by 4 m\n%s\n", worst, made,
              summary.brief_report().c_str());
  return nlsq::is_success(summary.verdict) ? 0 : 1;
}
