// Defines positions from distances: maps with offsets, clocks of 1.7e9 s, starts exactly at an anchor.
#include "corpus.hpp"
#include "functors.hpp"

#include <fmt/format.h>

namespace blocks {

namespace {

struct Range {
  double at[2], distance, weight;
  template <class T>
  bool operator()(const T* p, T* r) const {
    using std::sqrt;
    const T x = p[0] - at[0], y = p[1] - at[1];
    r[0] = weight * (sqrt(x * x + y * y) - distance);
    return true;
  }
};

// Measures the distance between two unknown positions.
struct Between {
  double distance, weight;
  template <class T>
  bool operator()(const T* p, const T* q, T* r) const {
    using std::hypot;
    r[0] = weight * (hypot(p[0] - q[0], p[1] - q[1]) - distance);
    return true;
  }
};

// Measures when a sound arrives whose time and position of origin are unknown.
struct Arrival {
  double at[3], stamp, speed;
  template <class T>
  bool operator()(const T* p, const T* made, T* r) const {
    using std::sqrt;
    const T x = p[0] - at[0], y = p[1] - at[1], z = p[2] - at[2];
    r[0] = 10.0 * (sqrt(x * x + y * y + z * z) - speed * (stamp - made[0]));
    return true;
  }
};

// Measures the step between two places (odometry), after Ceres's SLAM example.
struct Step {
  double dx, dy;
  template <class T>
  bool operator()(const T* a, const T* b, T* r) const {
    r[0] = 20.0 * (b[0] - a[0] - dx);
    r[1] = 20.0 * (b[1] - a[1] - dy);
    return true;
  }
};

Scene anchored(double offset, std::vector<double> start, double sigma, int anchors, std::uint64_t seed) {
  Noise noise(seed);
  Scene scene;
  const int p = scene.block({offset + start[0], offset + start[1]});
  for (int i = 0; i < anchors; ++i) {
    const double angle = 2 * std::numbers::pi * i / anchors, x = 30 * std::cos(angle),
                 y = 20 * std::sin(angle);
    scene.add<1, 2>(Range{{offset + x, offset + y}, std::hypot(x - 3, y - 4) + sigma * noise.normal(), 10},
                    {p});
  }
  return scene;
}

Scene slam(double offset, bool anchored_start, double away, std::uint64_t seed) {
  Noise noise(seed);
  Scene scene;
  std::vector<std::array<double, 2>> path, marks{{5, 8}, {15, -6}, {25, 7}, {12, 12}};
  std::vector<int> places, landmarks;
  const auto moved = [&](const std::array<double, 2>& p, double by) {
    return std::vector<double>{offset + p[0] + by * noise.normal(), offset + p[1] + by * noise.normal()};
  };
  for (int i = 0; i < 10; ++i) {
    path.push_back({3.0 * i, 2 * std::sin(0.7 * i)});
    places.push_back(scene.block(moved(path.back(), i == 0 && anchored_start ? 0 : away)));
  }
  if (anchored_start) scene.hold(places[0]);
  for (const auto& mark : marks) landmarks.push_back(scene.block(moved(mark, away)));
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    scene.add<2, 2, 2>(Step{path[i + 1][0] - path[i][0] + 0.05 * noise.normal(),
                            path[i + 1][1] - path[i][1] + 0.05 * noise.normal()},
                       {places[i], places[i + 1]});
  }
  for (std::size_t i = 0; i < path.size(); ++i) {
    for (std::size_t k = 0; k < marks.size(); ++k) {
      const double d = std::hypot(path[i][0] - marks[k][0], path[i][1] - marks[k][1]) + 0.1 * noise.normal();
      scene.add<1, 2, 2>(Between{d, 10}, {places[i], landmarks[k]});
    }
  }
  return scene;
}

Scene sound(double epoch, double offset, double speed, double late, double away, std::uint64_t seed) {
  Noise noise(seed);
  Scene scene;
  const int p = scene.block({offset + 3 + away, offset + 4 - away, offset + away}),
            made = scene.block({epoch + late});
  for (int i = 0; i < 9; ++i) {
    const double angle = 0.7 * i, at[3] = {40 * std::cos(angle), 30 * std::sin(angle), 10.0 * (i % 3)};
    const double d =
        std::sqrt((at[0] - 3) * (at[0] - 3) + (at[1] - 4) * (at[1] - 4) + (at[2] - 1) * (at[2] - 1)) +
        0.1 * noise.normal();
    scene.add<1, 3, 1>(Arrival{{offset + at[0], offset + at[1], offset + at[2]}, epoch + d / speed, speed},
                       {p, made});
  }
  return scene;
}

}  // namespace

void add_ranges(std::vector<Case>& cases) {
  for (const double offset : {0.0, 1e6, 1e9}) {
    for (const std::vector<double>& start :
         {std::vector<double>{0, 0}, {2000, -3000}, {30.001, 0}, {-30 + 1e-9, 1e-9}}) {
      for (const double sigma : {0.1, 0.0}) {
        cases.push_back(
            {"ranges",
             fmt::format("offset {:g} from ({:g}, {:g}) sigma {:g}", offset, start[0], start[1], sigma),
             [=] { return anchored(offset, start, sigma, 7, 1); }});
      }
    }
    for (const bool anchor : {true, false}) {
      for (const double away : {0.3, 4.0}) {
        cases.push_back(
            {"slam", fmt::format("offset {:g}{} away {:g}", offset, anchor ? "" : " gauge free", away),
             [=] { return slam(offset, anchor, away, 2); }, anchor ? Kind::healthy : Kind::deficient});
      }
    }
  }
  for (const double epoch : {0.0, 1.7e9}) {
    for (const double offset : {0.0, 1e6}) {
      for (const double late : {0.01, 1.0, 1000.0}) {
        for (const double away : {1.0, 500.0}) {
          cases.push_back(
              {"clocks", fmt::format("epoch {:g} offset {:g} late {:g} away {:g}", epoch, offset, late, away),
               [=] { return sound(epoch, offset, 343, late, away, 4); }});
        }
      }
    }
  }
}

}  // namespace blocks
