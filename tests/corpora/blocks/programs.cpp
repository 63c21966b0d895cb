// Defines block problems of the kinds in Ceres's examples, written independently.
#include "corpus.hpp"
#include "functors.hpp"

#include <fmt/format.h>

namespace blocks {

namespace {

struct TenMinus {
  template <class T>
  bool operator()(const T* x, T* r) const {
    r[0] = 10.0 - x[0];
    return true;
  }
};
struct Powell1 {
  template <class T>
  bool operator()(const T* a, const T* b, T* r) const {
    r[0] = a[0] + 10.0 * b[0];
    return true;
  }
};
struct Powell2 {
  template <class T>
  bool operator()(const T* a, const T* b, T* r) const {
    r[0] = std::sqrt(5.0) * (a[0] - b[0]);
    return true;
  }
};
struct Powell3 {
  template <class T>
  bool operator()(const T* a, const T* b, T* r) const {
    r[0] = (a[0] - 2.0 * b[0]) * (a[0] - 2.0 * b[0]);
    return true;
  }
};
struct Powell4 {
  template <class T>
  bool operator()(const T* a, const T* b, T* r) const {
    r[0] = std::sqrt(10.0) * (a[0] - b[0]) * (a[0] - b[0]);
    return true;
  }
};
// The curve is exp(m t + c).
struct Exponent {
  double t, y;
  template <class T>
  bool operator()(const T* m, const T* c, T* r) const {
    using std::exp;
    r[0] = y - exp(m[0] * t + c[0]);
    return true;
  }
};
struct OnCircle {
  double px, py;
  template <class T>
  bool operator()(const T* x, const T* y, const T* m, T* r) const {  // the radius is m²
    const T dx = px - x[0], dy = py - y[0];
    r[0] = m[0] * m[0] * m[0] * m[0] - dx * dx - dy * dy;
    return true;
  }
};
// Each point has its own angle.
struct OnEllipse {
  double px, py;
  template <class T>
  bool operator()(const T* ellipse, const T* angle, T* r) const {
    using std::cos, std::sin;
    const T x = ellipse[2] * cos(angle[0]), y = ellipse[3] * sin(angle[0]), c = cos(ellipse[4]),
            s = sin(ellipse[4]);
    r[0] = ellipse[0] + c * x - s * y - px;
    r[1] = ellipse[1] + s * x + c * y - py;
    return true;
  }
};
struct RosenbrockA {
  template <class T>
  bool operator()(const T* x, const T* y, T* r) const {
    r[0] = 10.0 * (y[0] - x[0] * x[0]);
    return true;
  }
};
struct RosenbrockB {
  template <class T>
  bool operator()(const T* x, T* r) const {
    r[0] = 1.0 - x[0];
    return true;
  }
};
// Computes the image of a point under a homography whose last number is fixed.
struct Mapped {
  double x, y, u, v;
  template <class T>
  bool operator()(const T* h, T* r) const {
    const T w = h[6] * x + h[7] * y + h[8];
    r[0] = (h[0] * x + h[1] * y + h[2]) / w - u;
    r[1] = (h[3] * x + h[4] * y + h[5]) / w - v;
    return true;
  }
};
// Relates a pixel to its neighbours; each pixel is a block.
struct Pixel {
  double y;
  template <class T>
  bool operator()(const T* x, T* r) const {
    r[0] = 0.5 * (x[0] - y);
    return true;
  }
};
struct Neighbours {
  template <class T>
  bool operator()(const T* a, const T* b, const T* c, T* r) const {
    r[0] = a[0] - 2.0 * b[0] + c[0];
    return true;
  }
};

Scene powell(double scale) {
  Scene scene;
  const int a = scene.block({3 * scale}), b = scene.block({-1 * scale}), c = scene.block({0}),
            d = scene.block({1 * scale});
  scene.add<1, 1, 1>(Powell1{}, {a, b});
  scene.add<1, 1, 1>(Powell2{}, {c, d});
  scene.add<1, 1, 1>(Powell3{}, {b, c});
  scene.add<1, 1, 1>(Powell4{}, {a, d});
  return scene;
}

Scene rosenbrock_chain(int n, double from) {
  Scene scene;
  std::vector<int> x;
  for (int i = 0; i < n; ++i) x.push_back(scene.block({i % 2 == 0 ? -1.2 * from : from}));
  for (std::size_t i = 0; i + 1 < x.size(); ++i) {
    scene.add<1, 1, 1>(RosenbrockA{}, {x[i], x[i + 1]});
    scene.add<1, 1>(RosenbrockB{}, {x[i]});
  }
  return scene;
}

Scene curve(double m, double c, bool robust, std::uint64_t seed) {
  Noise noise(seed);
  Scene scene;
  const int a = scene.block({m}), b = scene.block({c});
  for (int i = 0; i < 67; ++i) {
    const double t = 0.075 * i, off = robust && i % 11 == 4 ? 20 * noise.uniform() : 0;
    scene.add<1, 1, 1>(Exponent{t, std::exp(0.3 * t + 0.1) + 0.2 * noise.normal() + off}, {a, b},
                       robust ? LossSpec{LossSpec::Kind::cauchy, 0.5} : LossSpec{});
  }
  return scene;
}

Scene circle(double offset, double radius, double off, double sigma, bool arc) {
  Noise noise(31);
  Scene scene;
  const int x = scene.block({offset + off}), y = scene.block({offset - off}),
            m = scene.block({std::sqrt(radius * (1 + 0.1 * off))});
  for (int i = 0; i < 25; ++i) {
    const double angle = arc ? 0.02 * i : 0.25 * i, r = radius * (1 + sigma * noise.normal());
    scene.add<1, 1, 1, 1>(OnCircle{offset + 3 + r * std::cos(angle), offset + 4 + r * std::sin(angle)},
                          {x, y, m});
  }
  scene.scale = radius * radius;
  return scene;
}

Scene ellipse(double sigma, double off) {
  Noise noise(32);
  Scene scene;
  const int e = scene.block({off, -off, 3 + off, 2, 0.1});
  for (int i = 0; i < 16; ++i) {
    const double a = 0.4 * i, x = 4 * std::cos(a), y = 2 * std::sin(a), c = std::cos(0.5), s = std::sin(0.5);
    const int angle = scene.block({a + 0.3 * off * noise.normal()});
    scene.add<2, 5, 1>(
        OnEllipse{1 + c * x - s * y + sigma * noise.normal(), 2 + s * x + c * y + sigma * noise.normal()},
        {e, angle});
  }
  return scene;
}

Scene homography(double offset, double sigma, bool held) {
  Noise noise(33);
  Scene scene;
  const double truth[] = {1.1, 0.1, 3, -0.2, 0.9, -5, 1e-3, 2e-3, 1};
  const int h = scene.block({1, 0, 0, 0, 1, 0, 0, 0, 1});
  if (held) scene.hold_numbers(h, {8});
  for (int i = 0; i < 12; ++i) {
    const double x = offset + noise.uniform(-50, 50), y = offset + noise.uniform(-50, 50);
    double r[2] = {};
    Mapped{x, y, 0, 0}(truth, r);
    scene.add<2, 9>(Mapped{x, y, r[0] + sigma * noise.normal(), r[1] + sigma * noise.normal()}, {h});
  }
  return scene;
}

Scene denoising(LossSpec loss) {
  Noise noise(34);
  Scene scene;
  std::vector<int> x;
  for (int i = 0; i < 40; ++i) {
    const double y = (i < 20 ? 60 : 200) + 3 * i + 5 * noise.normal();
    x.push_back(scene.block({y}));
    scene.add<1, 1>(Pixel{y}, {x.back()});
  }
  for (std::size_t i = 0; i + 2 < x.size(); ++i)
    scene.add<1, 1, 1, 1>(Neighbours{}, {x[i], x[i + 1], x[i + 2]}, loss);
  return scene;
}

}  // namespace

void add_programs(std::vector<Case>& cases) {
  const auto add = [&cases](std::string name, std::function<Scene()> make, Kind kind = Kind::healthy) {
    cases.push_back({"programs", std::move(name), std::move(make), kind});
  };
  add("hello world", [] {
    Scene scene;
    scene.add<1, 1>(TenMinus{}, {scene.block({0.5})});
    return scene;
  });
  for (const double scale : {1.0, 100.0, 1e4})
    add(
        fmt::format("powell x{:g}", scale), [=] { return powell(scale); }, Kind::singular);
  for (const int n : {2, 5, 12}) {
    for (const double from : {1.0, 10.0})
      add(fmt::format("rosenbrock {} x{:g}", n, from), [=] { return rosenbrock_chain(n, from); });
  }
  for (const bool robust : {false, true}) {
    for (const auto& [m, c] : {std::pair{0.0, 0.0}, {2.0, 1.0}, {5.0, 0.0}, {-2.0, 3.0}, {0.0, 8.0}}) {
      add(fmt::format("{}curve from ({:g}, {:g})", robust ? "robust " : "", m, c),
          [=] { return curve(m, c, robust, 30); });
    }
  }
  for (const double offset : {0.0, 1e6}) {
    for (const double off : {1.0, 8.0}) {
      for (const bool arc : {false, true}) {
        add(fmt::format("circle{} offset {:g} off {:g}", arc ? " from an arc" : "", offset, off),
            [=] { return circle(offset, 5, off, 0.002, arc); });
      }
    }
  }
  for (const double sigma : {0.05, 0.0}) {
    for (const double off : {0.2, 1.0})
      add(fmt::format("ellipse off {:g} sigma {:g}", off, sigma), [=] { return ellipse(sigma, off); });
    for (const bool held : {true, false}) {
      add(
          fmt::format("homography{} sigma {:g}", held ? "" : " free", sigma),
          [=] { return homography(0, sigma, held); }, held ? Kind::healthy : Kind::deficient);
    }
    add(fmt::format("homography at 1000 sigma {:g}", sigma), [=] { return homography(1000, sigma, true); });
  }
  for (const LossSpec::Kind kind : kRobust) {
    add(fmt::format("denoising {}", name(kind)), [=] { return denoising({kind, 4, 2}); });
  }
}

std::vector<Case> corpus() {
  std::vector<Case> cases;
  add_curves(cases);
  add_published(cases);
  add_programs(cases);
  add_ranges(cases);
  add_poses(cases);
  add_bundles(cases);
  add_robust(cases);
  add_bounded(cases);
  add_manifolds(cases);
  add_degenerate(cases);
  add_hostile(cases);
  return cases;
}

}  // namespace blocks
