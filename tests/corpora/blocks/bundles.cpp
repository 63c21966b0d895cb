// Defines bundle adjustment problems with far starts, gauge freedom, offsets and scales in single blocks,
// points near the camera's plane, and outliers.
#include "corpus.hpp"
#include "functors.hpp"

#include <fmt/format.h>

#include <optional>

namespace blocks {

namespace {

constexpr double kFocal = 500;

template <class T>
bool project(const T* seen, double u, double v, const T& focal, T* r) {
  if (seen[2] == 0.0) return false;
  r[0] = focal * seen[0] / seen[2] - u;
  r[1] = focal * seen[1] / seen[2] - v;
  return true;
}

// A camera is a rotation vector, then its centre. The world may have a large offset, so the difference is
// taken first.
struct Sight {
  double u, v;
  template <class T>
  bool operator()(const T* camera, const T* point, T* r) const {
    const T ray[3] = {point[0] - camera[3], point[1] - camera[4], point[2] - camera[5]};
    T seen[3];
    rotate(camera, ray, seen);
    return project(seen, u, v, T(kFocal), r);
  }
};

// The camera has the form of "Bundle Adjustment in the Large": rotation and translation, with the lens as a
// separate block.
struct SightWithLens {
  double u, v;
  template <class T>
  bool operator()(const T* camera, const T* lens, const T* point, T* r) const {
    T seen[3];
    rotate(camera, point, seen);
    for (int i = 0; i < 3; ++i) seen[i] += camera[3 + i];
    if (seen[2] == 0.0) return false;
    const T x = seen[0] / seen[2], y = seen[1] / seen[2], rr = x * x + y * y;
    const T scale = lens[0] * (1.0 + rr * (lens[1] + lens[2] * rr));
    r[0] = scale * x - u;
    r[1] = scale * y - v;
    return true;
  }
};

// The point moves. Its position at the time of the image follows from its velocity and a clock, in seconds
// since 1970.
struct TimedSight {
  double u, v, stamp, velocity[3];
  template <class T>
  bool operator()(const T* camera, const T* point, const T* clock, T* r) const {
    const T after = stamp - clock[0];
    T ray[3], seen[3];
    for (int i = 0; i < 3; ++i) ray[i] = point[i] + velocity[i] * after - camera[3 + i];
    rotate(camera, ray, seen);
    return project(seen, u, v, T(kFocal), r);
  }
};

struct World {
  std::vector<std::vector<double>> cameras, points;
};

// Cameras around a cloud of points; all face it.
World make_world(int cameras, int points, double scale, double offset, Noise& noise) {
  World world;
  for (int i = 0; i < cameras; ++i) {
    const double angle = 0.35 * (i - 0.5 * (cameras - 1));
    // The camera is rotated by `angle` around y, at distance 8.
    std::vector<double> camera{0.02 * noise.normal(), -angle, 0.02 * noise.normal()};
    camera.push_back(offset - scale * 8 * std::sin(angle));
    camera.push_back(offset + scale * 0.3 * noise.normal());
    camera.push_back(offset - scale * 8 * std::cos(angle));
    world.cameras.push_back(camera);
  }
  for (int i = 0; i < points; ++i) {
    std::vector<double> point;
    for (int k = 0; k < 3; ++k) point.push_back(offset + scale * noise.uniform(-2, 2));
    world.points.push_back(point);
  }
  return world;
}

struct Setup {
  int cameras = 4, points = 10;
  double scale = 1, offset = 0, sigma = 0.5, away = 0.02;
  bool gauge_free = false;
  LossSpec loss = {};
  double outlier = 0;  // in pixels, added to every seventh sight
  double before = 0;  // points 0 and 1 start at this distance in front of the plane of camera 1 (behind it if
                      // negative)
  double turn = 0;    // rotation of the whole world around x
  std::optional<double> clock = {};  // the true clock
  std::uint64_t seed = 1;
};

// Rotates the world by `turn` around the axis (1, 0.2, 0.1), so that rotation vectors reach π and more.
std::vector<double> composed(const std::vector<double>& camera, const std::vector<double>& turn) {
  const std::vector<double> a = quaternion_of({camera[0], camera[1], camera[2]}), b = quaternion_of(turn);
  double q[4];
  multiply(a.data(), b.data(), q);
  const double s = std::sqrt(q[1] * q[1] + q[2] * q[2] + q[3] * q[3]), angle = 2 * std::atan2(s, q[0]);
  return {angle * q[1] / s, angle * q[2] / s, angle * q[3] / s, camera[3], camera[4], camera[5]};
}

void turn_world(World& world, double turn) {
  const double length = std::sqrt(1.05), w[3] = {turn / length, 0.2 * turn / length, 0.1 * turn / length};
  const auto turned = [&](std::vector<double>& p, std::size_t first) {
    double out[3];
    rotate(w, p.data() + first, out);
    std::copy_n(out, 3, p.begin() + static_cast<std::ptrdiff_t>(first));
  };
  for (auto& camera : world.cameras) {
    camera = composed(camera, {-w[0], -w[1], -w[2]});
    turned(camera, 3);
  }
  for (auto& point : world.points) turned(point, 0);
}

void move_away(std::vector<double>& numbers, std::size_t first, double by, Noise& noise) {
  for (std::size_t i = first; i < first + 3; ++i) numbers[i] += by * noise.normal();
}

// Moves the point along the view of camera 1 to the given depth.
void put_before(std::vector<double>& point, const std::vector<double>& camera, double depth) {
  const double w[3] = {-camera[0], -camera[1], -camera[2]};
  const double seen[3] = {0.3 * depth, 0.2 * depth, depth};
  double ray[3];
  rotate(w, seen, ray);
  for (std::size_t i = 0; i < 3; ++i) point[i] = camera[3 + i] + ray[i];
}

Scene bundle(const Setup& s) {
  Noise noise(s.seed);
  World world = make_world(s.cameras, s.points, s.scale, s.offset, noise);
  if (s.turn != 0) turn_world(world, s.turn);
  World start = world;
  for (std::size_t i = s.gauge_free ? 0 : 2; i < start.cameras.size(); ++i) {
    move_away(start.cameras[i], 0, 0.2 * s.away, noise);
    move_away(start.cameras[i], 3, s.scale * s.away, noise);
  }
  for (auto& point : start.points) move_away(point, 0, s.scale * s.away, noise);
  if (s.before != 0) {
    for (std::size_t i = 0; i < 2; ++i) put_before(start.points[i], start.cameras[1], s.before);
  }
  Scene scene;
  std::vector<int> cameras, points;
  for (const auto& camera : start.cameras) cameras.push_back(scene.block(camera));
  for (const auto& point : start.points) points.push_back(scene.block(point));
  const int clock = s.clock ? scene.block({*s.clock + 3}) : -1;
  if (!s.gauge_free) scene.hold(0), scene.hold(1);
  for (std::size_t i = 0, count = 0; i < world.cameras.size(); ++i) {
    for (std::size_t j = 0; j < world.points.size(); ++j, ++count) {
      const double* camera = world.cameras[i].data();
      const double velocity[3] = {noise.uniform(-1, 1), noise.uniform(-1, 1), 0},
                   after = s.clock ? noise.uniform(-1, 1) : 0;
      double ray[3], seen[3];
      for (std::size_t k = 0; k < 3; ++k)
        ray[k] = world.points[j][k] + s.scale * velocity[k] * after - camera[3 + k];
      rotate(camera, ray, seen);
      const double off = s.outlier != 0 && count % 7 == 3 ? s.outlier * (noise.uniform() < 0.5 ? -1 : 1) : 0;
      const double u = kFocal * seen[0] / seen[2] + s.sigma * noise.normal() + off,
                   v = kFocal * seen[1] / seen[2] + s.sigma * noise.normal();
      if (!s.clock) {
        scene.add<2, 6, 3>(Sight{u, v}, {cameras[i], points[j]}, s.loss);
      } else {
        const TimedSight f{u, v, *s.clock + after, {s.scale * velocity[0], s.scale * velocity[1], 0}};
        scene.add<2, 6, 3, 1>(f, {cameras[i], points[j], clock}, s.loss);
      }
    }
  }
  return scene;
}

Scene with_lens(double away, bool shared, double sigma, std::uint64_t seed) {
  Noise noise(seed);
  World world = make_world(4, 12, 1, 0, noise);
  Scene scene;
  const std::vector<double> truth{kFocal, -0.02, 0.003};
  std::vector<int> cameras, points, lenses;
  for (auto& camera : world.cameras) {  // translations in place of centres
    const double centre[3] = {-camera[3], -camera[4], -camera[5]};
    rotate(camera.data(), centre, camera.data() + 3);
    std::vector<double> start = camera;
    if (cameras.size() >= 2) move_away(start, 0, 0.1 * away, noise), move_away(start, 3, away, noise);
    cameras.push_back(scene.block(start));
    if (!shared || lenses.empty()) lenses.push_back(scene.block({kFocal * (1 + 0.3 * away), 0, 0}));
    else lenses.push_back(lenses.front());
  }
  scene.hold(cameras[0]), scene.hold(cameras[1]);
  for (auto& point : world.points) {
    std::vector<double> start = point;
    move_away(start, 0, away, noise);
    points.push_back(scene.block(start));
  }
  for (std::size_t i = 0; i < cameras.size(); ++i) {
    for (std::size_t j = 0; j < points.size(); ++j) {
      double r[2] = {};
      SightWithLens{0, 0}(world.cameras[i].data(), truth.data(), world.points[j].data(), r);
      scene.add<2, 6, 3, 3>(SightWithLens{r[0] + sigma * noise.normal(), r[1] + sigma * noise.normal()},
                            {cameras[i], lenses[i], points[j]});
    }
  }
  return scene;
}

void add(std::vector<Case>& cases, const char* family, std::string name, const Setup& s) {
  cases.push_back({family, std::move(name), [s] { return bundle(s); },
                   s.gauge_free    ? Kind::deficient
                   : s.before != 0 ? Kind::chaotic
                                   : Kind::healthy});
}

}  // namespace

void add_bundles(std::vector<Case>& cases) {
  const auto gauge = [](bool free) { return free ? "gauge free" : "gauge held"; };
  for (const bool free : {false, true}) {
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      for (const double away : {0.02, 0.3, 1.0}) {
        for (const double sigma : {0.5, 0.0}) {
          add(cases, "bundles",
              fmt::format("{} away {:g} sigma {:g} seed {}", gauge(free), away, sigma, seed),
              {.sigma = sigma, .away = away, .gauge_free = free, .seed = seed});
        }
      }
      for (const double offset : {1e6, 1e9}) {
        for (const double away : {0.02, 0.5}) {
          add(cases, "bundles offset",
              fmt::format("{} offset {:g} away {:g} seed {}", gauge(free), offset, away, seed),
              {.offset = offset, .away = away, .gauge_free = free, .seed = seed});
        }
      }
      for (const double scale : {1e8, 1e-8}) {
        add(cases, "bundles scaled", fmt::format("{} scale {:g} seed {}", gauge(free), scale, seed),
            {.scale = scale, .away = 0.1, .gauge_free = free, .seed = seed});
      }
      for (const double before : {1e-3, 1e-5, -1e-3, 0.1}) {
        add(cases, "bundles near plane",
            fmt::format("{} points {:g} before seed {}", gauge(free), before, seed),
            {.gauge_free = free, .before = before, .seed = seed});
      }
      for (const double clock : {0.0, 1.7e9}) {
        add(cases, "bundles clock", fmt::format("{} clock {:g} seed {}", gauge(free), clock, seed),
            {.away = 0.1, .gauge_free = free, .clock = clock, .seed = seed});
      }
    }
  }
  // Derivatives in float32 lead to a point from which no step leads on, and the solve begins again.
  add(cases, "bundles near plane", "gauge free points 1e-05 before seed 5",
      {.gauge_free = true, .before = 1e-5, .seed = 5});
  for (const LossSpec::Kind kind : kRobust) {
    LossSpec loss{kind, 1};
    if (kind == LossSpec::Kind::tukey) loss.a = 4;
    if (kind == LossSpec::Kind::tolerant) loss.a = 1, loss.b = 0.3;
    for (const double outlier : {50.0, 3e9}) {
      add(cases, "bundles outliers", fmt::format("{} outliers of {:g}", name(kind), outlier),
          {.away = 0.1, .loss = loss, .outlier = outlier});
    }
  }
  for (const double less : {1e-7, 1e-3, -1e-3, 0.0}) {
    add(cases, "bundles turned", fmt::format("by pi less {:g}", less),
        {.away = 0.1, .turn = std::numbers::pi - less});
  }
  for (const double away : {0.05, 0.5}) {
    for (const bool shared : {true, false}) {
      for (const double sigma : {0.5, 0.0}) {
        cases.push_back(
            {"bundles lens",
             fmt::format("away {:g} {} sigma {:g}", away, shared ? "one lens" : "own lenses", sigma),
             [=] { return with_lens(away, shared, sigma, 1); }});
      }
    }
  }
}

}  // namespace blocks
