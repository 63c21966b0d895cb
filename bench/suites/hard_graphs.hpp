// Makes pose graphs that start far from their minimum: a robot drives through a grid of streets, its odometry
// is poor, and it seldom recognises a place. The suite `pose` compares iterations on them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numbers>
#include <random>
#include <utility>
#include <vector>

namespace hard_graphs {

// Measures the pose of b from a in the plane, with standard errors. Each pose is one block: x, y and angle.
struct Measurement {
  double dx, dy, turn, place_sigma, turn_sigma;

  template <class T>
  bool operator()(const T* a, const T* b, T* residuals) const {
    using std::cos, std::floor, std::sin;
    constexpr double kTurn = 2 * std::numbers::pi;
    const T c = cos(a[2]), s = sin(a[2]), x = b[0] - a[0], y = b[1] - a[1];
    residuals[0] = (c * x + s * y - dx) / place_sigma;
    residuals[1] = (c * y - s * x - dy) / place_sigma;
    const T off = b[2] - a[2] - turn;
    residuals[2] = (off - kTurn * floor((off + 0.5 * kTurn) / kTurn)) / turn_sigma;
    return true;
  }
};

struct Edge {
  int from, to;
  Measurement measured;
};

struct Graph {
  std::vector<double> poses;  // 3 numbers each: the start, integrated from the odometry
  std::vector<Edge> edges;
};

class Drive {
 public:
  explicit Drive(unsigned seed) : random_(seed) {}

  // Draws a graph. The number of poses, the errors, and how often a place is recognised are drawn, too.
  Graph graph() {
    const int poses = static_cast<int>(between(150, 700));
    const double place = between(0.02, 0.2), turn = between(0.03, 0.25);
    const double seen_place = between(0.02, 0.1), seen_turn = between(0.005, 0.05);
    const auto rare = static_cast<unsigned>(between(2, 15));
    Graph out;
    std::map<std::pair<int, int>, std::vector<int>> visits;
    for (int i = 0; i < poses; ++i) {
      if (i > 0) move(std::max(4, static_cast<int>(std::sqrt(poses / 6.0))));
      truth_.push_back({static_cast<double>(x_), static_cast<double>(y_), 0.5 * std::numbers::pi * heading_});
      std::vector<double>& start = out.poses;
      if (i == 0) {
        start = {0, 0, truth_[0][2]};
      } else {
        const Measurement m = measure(i - 1, i, place, turn);
        const double* last = start.data() + start.size() - 3;
        const double c = std::cos(last[2]), s = std::sin(last[2]);
        const std::array<double, 3> next{last[0] + c * m.dx - s * m.dy, last[1] + s * m.dx + c * m.dy,
                                         std::remainder(last[2] + m.turn, 2 * std::numbers::pi)};
        start.insert(start.end(), next.begin(), next.end());
        out.edges.push_back({i - 1, i, m});
      }
      std::vector<int>& here = visits[{x_, y_}];
      for (const int before : here) {
        if (before < i - 3 && random_() % rare == 0)
          out.edges.push_back({before, i, measure(before, i, seen_place, seen_turn)});
      }
      here.push_back(i);
    }
    return out;
  }

 private:
  double uniform() { return static_cast<double>(random_()) / 4294967296.0; }
  double between(double low, double high) { return low * std::pow(high / low, uniform()); }
  // Returns an approximately normal number, which is the same on all platforms: the sum of twelve uniform
  // numbers.
  double noise(double size) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return size * sum;
  }
  // Drives one street on. One in four times the robot turns first, and always at the edge of the town.
  void move(int side) {
    constexpr int kX[] = {1, 0, -1, 0}, kY[] = {0, 1, 0, -1};
    if (random_() % 4 == 0) heading_ = (heading_ + (random_() % 2 == 0 ? 1 : 3)) % 4;
    while (std::abs(x_ + kX[heading_]) > side || std::abs(y_ + kY[heading_]) > side)
      heading_ = (heading_ + 1) % 4;
    x_ += kX[heading_];
    y_ += kY[heading_];
  }
  Measurement measure(int i, int j, double place, double turn) {
    const auto &a = truth_[static_cast<std::size_t>(i)], &b = truth_[static_cast<std::size_t>(j)];
    const double c = std::cos(a[2]), s = std::sin(a[2]), x = b[0] - a[0], y = b[1] - a[1];
    const double dx = c * x + s * y + noise(place), dy = c * y - s * x + noise(place);
    return {dx, dy, std::remainder(b[2] - a[2] + noise(turn), 2 * std::numbers::pi), place, turn};
  }

  std::mt19937 random_;
  int x_ = 0, y_ = 0, heading_ = 0;
  std::vector<std::array<double, 3>> truth_;
};

}  // namespace hard_graphs
