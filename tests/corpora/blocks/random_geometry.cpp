// Defines random block problems of positions, poses and views.
#include "random_blocks.hpp"

namespace blocks {

namespace {

// Measures the distance to a satellite plus the error of the receiver's clock.
struct Pseudorange {
  double at[3], range, weight;
  template <class T>
  bool operator()(const T* p, const T* clock, T* r) const {
    using std::sqrt;
    const T x = p[0] - at[0], y = p[1] - at[1], z = p[2] - at[2];
    r[0] = weight * (sqrt(x * x + y * y + z * z) + clock[0] - range);
    return true;
  }
};
struct ClockDrift {
  double weight;
  template <class T>
  bool operator()(const T* a, const T* b, const T* rate, T* r) const {
    r[0] = weight * (b[0] - a[0] - 30.0 * rate[0]);
    return true;
  }
};

}  // namespace

Scene positioning(Draw& d) {
  Scene s;
  const double earth = 6.37e6, p[3] = {0.6 * earth, 0.3 * earth, 0.74 * earth};
  const double metres = 100 * d.sigma,
               far = d.away > 0.5 ? earth : 1e3 * d.away;  // size of the noise, and of the start's error
  const double w = d.loss.kind == LossSpec::Kind::none ? d.unit : 1 / metres;
  const int place = s.block({p[0] - far, p[1] - 0.3 * far, p[2] - 0.7 * far});
  const double bias = d.pick({0, 1e3, 3e5, 3e8}), rate = d.pick({0, 0.1, 30});
  std::vector<int> clocks;
  for (int k = 0; k < 4; ++k) clocks.push_back(s.block({0}));
  const int drift = s.block({0});
  for (int k = 0; k < 4; ++k) {
    for (int i = 0; i < 6; ++i) {
      const double a = d.noise.uniform(-1, 1.5), b = d.noise.uniform(-1, 1.2), R = 2.66e7;
      const double at[3] = {R * std::cos(a) * std::cos(b), R * std::sin(b), R * std::sin(a) * std::cos(b)};
      const double range =
          std::hypot(p[0] - at[0], p[1] - at[1], p[2] - at[2]) + bias + 30 * rate * k + metres * d.deviate();
      s.add<1, 3, 1>(Pseudorange{{at[0], at[1], at[2]}, range, w},
                     {place, clocks[static_cast<std::size_t>(k)]}, d.loss);
    }
    if (k > 0)
      s.add<1, 1, 1, 1>(ClockDrift{w * d.pick({0.1, 1, 10})}, {clocks[static_cast<std::size_t>(k - 1)],
                                                               clocks[static_cast<std::size_t>(k)], drift});
  }
  s.scale = w * 2e7;
  return s;
}

namespace {

// An ellipse through points, each with its own foot point.
struct Foot {
  double x, y, weight;
  template <class T>
  bool operator()(const T* centre, const T* shape, const T* at, T* r) const {
    using std::cos, std::sin;
    const T u = shape[0] * cos(at[0]), v = shape[1] * sin(at[0]), c = cos(shape[2]), q = sin(shape[2]);
    r[0] = weight * (centre[0] + c * u - q * v - x);
    r[1] = weight * (centre[1] + q * u + c * v - y);
    return true;
  }
};

}  // namespace

Scene ellipse(Draw& d) {
  Scene s;
  const double arc = d.pick({6.2, 6.2, 3, 1});
  const int centre = s.block({d.offset + d.away * d.gauss(), -d.offset + d.away * d.gauss()}),
            shape = s.block({4 * std::exp(0.3 * d.away * d.gauss()), 2 * std::exp(0.3 * d.away * d.gauss()),
                             0.4 + 0.3 * d.away});
  for (int i = 0; i < 20; ++i) {
    const double a = arc * i / 20, u = 4 * std::cos(a), v = 2 * std::sin(a);
    const double x = d.offset + std::cos(0.4) * u - std::sin(0.4) * v + d.error(),
                 y = -d.offset + std::sin(0.4) * u + std::cos(0.4) * v + d.error();
    s.add<2, 2, 3, 1>(Foot{x, y, d.weight()}, {centre, shape, s.block({a + 0.3 * d.away * d.gauss()})},
                      d.loss);
  }
  s.scale = d.scale(4 + d.offset);
  return s;
}

namespace {

// Relates two motions of a robot's hand to those of a camera that is fixed on it.
struct HandEye {
  double qa[4], ta[3], qb[4], tb[3], weight;
  template <class T>
  bool operator()(const T* q, const T* t, T* r) const {
    T turned[3], moved[3], across[3], there[3], b[3];
    const T aq[4] = {T(qa[0]), T(qa[1]), T(qa[2]), T(qa[3])},
            bq[4] = {T(qb[0]), T(qb[1]), T(qb[2]), T(qb[3])};
    for (int k = 0; k < 2; ++k) {
      const double axis[3] = {k == 0 ? 1.0 : 0.3, k == 0 ? 0.2 : 1.0, 0.1};
      rotate_by_quaternion(bq, axis, b);
      rotate_by_quaternion(q, b, turned);
      rotate_by_quaternion(q, axis, across);
      rotate_by_quaternion(aq, across, there);
      for (int i = 0; i < 3; ++i) r[3 * k + i] = weight * (there[i] - turned[i]);
    }
    rotate_by_quaternion(aq, t, moved);
    rotate_by_quaternion(q, tb, turned);
    for (int i = 0; i < 3; ++i) r[6 + i] = weight * (moved[i] + ta[i] - turned[i] - t[i]);
    return true;
  }
};
std::array<double, 4> product(const double* a, const double* b) {
  return {a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
          a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
          a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
          a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]};
}
std::array<double, 4> turn(const std::array<double, 3>& w) {
  const double angle = std::hypot(w[0], w[1], w[2]), s = angle > 0 ? std::sin(angle / 2) / angle : 0.5;
  return {std::cos(angle / 2), s * w[0], s * w[1], s * w[2]};
}

}  // namespace

Scene hand_eye(Draw& d) {
  Scene s;
  const auto X = turn({0.5, -1.1, 0.8});
  const double tx[3] = {0.1, -0.3, 0.2};
  const double from = d.away > 2 ? 3.1 : d.away;
  const auto error = turn({from * 0.6, from * 0.64, -from * 0.48});
  const auto start = product(X.data(), error.data());
  const int q = s.block({start[0], start[1], start[2], start[3]}, Shape::quaternion),
            t = s.block({tx[0] + d.away, tx[1] - d.away, tx[2] + d.away});
  const double inverse[4] = {X[0], -X[1], -X[2], -X[3]};
  for (int i = 0; i < 7; ++i) {
    HandEye f;
    const auto a = turn(d.direction());
    const auto half = product(inverse, a.data());
    auto b = product(half.data(), X.data());
    const auto wrong = turn({d.error(), d.error(), d.error()});
    b = product(b.data(), wrong.data());
    std::copy_n(a.data(), 4, f.qa), std::copy_n(b.data(), 4, f.qb);
    for (double& v : f.ta) v = d.gauss();
    // This is R_X tb = R_A tx + ta - tx.
    double moved[3], right[3];
    rotate_by_quaternion(f.qa, tx, moved);
    for (int k = 0; k < 3; ++k) right[k] = moved[k] + f.ta[k] - tx[k];
    rotate_by_quaternion(inverse, right, f.tb);
    for (double& v : f.tb) v += d.error();
    f.weight = d.weight();
    s.add<9, 4, 3>(f, {q, t}, d.loss);
  }
  s.scale = d.scale(1);
  return s;
}

namespace {

// Registration of points to planes.
struct ToPlane {
  double p[3], n[3], at[3], weight;
  template <class T>
  bool operator()(const T* w, const T* t, T* r) const {
    T turned[3];
    rotate(w, p, turned);
    T sum = T(0.0);
    for (int i = 0; i < 3; ++i) sum = sum + n[i] * (turned[i] + t[i] - at[i]);
    r[0] = weight * sum;
    return true;
  }
};

}  // namespace

Scene to_planes(Draw& d) {
  Scene s;
  const double w[3] = {0.3, -0.5, 0.9}, t[3] = {d.offset, -2, 1};
  const int turned =
                s.block({w[0] + d.away * d.gauss(), w[1] + d.away * d.gauss(), w[2] + d.away * d.gauss()}),
            moved = s.block({t[0] + d.away, t[1] + d.away, t[2] - d.away});
  const double flat = d.pick({1, 1, 1e-3});
  for (int i = 0; i < 40; ++i) {
    ToPlane f;
    double length = 0;
    for (int k = 0; k < 3; ++k) f.p[k] = 3 * d.gauss(), f.n[k] = (k < 2 ? flat : 1) * d.gauss();
    for (const double v : f.n) length += v * v;
    for (double& v : f.n) v /= std::sqrt(length);
    rotate(w, f.p, f.at);
    const double e = d.error();
    for (int k = 0; k < 3; ++k) f.at[k] += t[k] + e * f.n[k];
    f.weight = d.weight();
    s.add<1, 3, 3>(f, {turned, moved}, d.loss);
  }
  s.scale = d.scale(3 + d.offset);
  return s;
}

namespace {

// Measures the bearing of a mark from a robot's pose.
struct Bearing {
  double angle, weight;
  template <class T>
  bool operator()(const T* pose, const T* mark, T* r) const {
    using std::atan2, std::sin, std::cos;
    const T a = atan2(mark[1] - pose[1], mark[0] - pose[0]) - pose[2] - angle;
    r[0] = weight * atan2(sin(a), cos(a));
    return true;
  }
};
struct Odometry {
  double dx, dy, turn, weight;
  template <class T>
  bool operator()(const T* a, const T* b, T* r) const {
    using std::cos, std::sin, std::atan2;
    const T c = cos(a[2]), s = sin(a[2]), x = b[0] - a[0], y = b[1] - a[1], w = b[2] - a[2] - turn;
    r[0] = weight * (c * x + s * y - dx);
    r[1] = weight * (c * y - s * x - dy);
    r[2] = weight * 5.0 * atan2(sin(w), cos(w));
    return true;
  }
};

}  // namespace

Scene bearings(Draw& d) {
  Scene s;
  const double offset = std::min(d.offset, 1e6);
  std::vector<std::array<double, 3>> path;
  std::vector<std::array<double, 2>> marks{{8, 6}, {-5, 9}, {4, -8}, {15, 2}, {-2, -3}};
  std::vector<int> poses, places;
  for (int i = 0; i < 9; ++i) {
    const double a = 0.7 * i;
    path.push_back({offset + 6 * std::cos(a), offset + 4 * std::sin(a), a + 1.6});
    const double by = i == 0 ? 0 : d.away;
    poses.push_back(s.block({path.back()[0] + by * d.gauss(), path.back()[1] + by * d.gauss(),
                             path.back()[2] + 0.3 * by * d.gauss()}));
  }
  s.hold(poses[0]);
  for (const auto& m : marks)
    places.push_back(s.block({offset + m[0] + d.away * d.gauss(), offset + m[1] + d.away * d.gauss()}));
  for (std::size_t i = 0; i < path.size(); ++i) {
    for (std::size_t k = 0; k < marks.size(); ++k) {
      const double angle =
          std::atan2(offset + marks[k][1] - path[i][1], offset + marks[k][0] - path[i][0]) - path[i][2];
      s.add<1, 3, 2>(Bearing{angle + d.error(), d.weight()}, {poses[i], places[k]}, d.loss);
    }
    if (i == 0) continue;
    const auto &a = path[i - 1], &b = path[i];
    const double c = std::cos(a[2]), q = std::sin(a[2]), x = b[0] - a[0], y = b[1] - a[1];
    s.add<3, 3, 3>(Odometry{c * x + q * y + d.error(), c * y - q * x + d.error(),
                            b[2] - a[2] + 0.2 * d.error(), d.weight()},
                   {poses[i - 1], poses[i]}, d.loss);
  }
  s.scale = d.scale(1 + offset);
  return s;
}

namespace {

// Measures the distance of a point from its epipolar line. The relative pose of the two views is a rotation
// and a direction.
struct Epipolar {
  double a[2], b[2], weight;
  template <class T>
  bool operator()(const T* q, const T* t, T* r) const {
    using std::sqrt;
    const T p[3] = {T(a[0]), T(a[1]), T(1.0)};
    T turned[3];
    rotate_by_quaternion(q, p, turned);
    const T line[3] = {t[1] * turned[2] - t[2] * turned[1], t[2] * turned[0] - t[0] * turned[2],
                       t[0] * turned[1] - t[1] * turned[0]};
    const T error = b[0] * line[0] + b[1] * line[1] + line[2];
    r[0] = weight * error / sqrt(line[0] * line[0] + line[1] * line[1] + 1e-12);
    return true;
  }
};

}  // namespace

Scene two_views(Draw& d) {
  Scene s;
  const auto q = turn({0.1, -0.3, 0.05}), wrong = turn({0.3 * d.away, -0.2 * d.away, 0.3 * d.away});
  const auto start = product(wrong.data(), q.data());
  double t[3] = {0.9, 0.1, 0.42}, from[3], norm = 0;
  for (int i = 0; i < 3; ++i) from[i] = t[i] + 0.5 * d.away * d.gauss(), norm += from[i] * from[i];
  for (double& v : from) v /= std::sqrt(norm);
  const int Q = s.block({start[0], start[1], start[2], start[3]}, Shape::quaternion),
            D = s.block({from[0], from[1], from[2]}, Shape::sphere);
  for (int i = 0; i < 30; ++i) {
    const double p[3] = {2 * d.gauss(), 2 * d.gauss(), 6 + d.gauss()};
    double u[3];
    rotate_by_quaternion(q.data(), p, u);
    for (int k = 0; k < 3; ++k) u[k] += t[k];
    s.add<1, 4, 3>(Epipolar{{p[0] / p[2], p[1] / p[2]},
                            {u[0] / u[2] + 0.1 * d.error(), u[1] / u[2] + 0.1 * d.error()},
                            d.weight()},
                   {Q, D}, d.loss);
  }
  s.scale = d.scale(1);
  return s;
}

namespace {

// Views of points that are written as a direction and an inverse depth.
struct InverseDepth {
  double ray[2], seen[2], weight;
  template <class T>
  bool operator()(const T* pose, const T* inverse, T* r) const {
    const T p[3] = {T(ray[0]), T(ray[1]), T(1.0)};
    T u[3];
    rotate(pose, p, u);
    for (int i = 0; i < 3; ++i) u[i] = u[i] + inverse[0] * pose[3 + i];
    r[0] = weight * (u[0] / u[2] - seen[0]);
    r[1] = weight * (u[1] / u[2] - seen[1]);
    return true;
  }
};

}  // namespace

Scene inverse_depths(Draw& d) {
  Scene s;
  std::vector<std::array<double, 6>> views{
      {0.02, 0.1, 0, -1, 0, 0.1}, {-0.03, -0.1, 0.02, 1, 0.1, 0}, {0.1, 0, 0.1, 0, -1, 0.2}};
  std::vector<int> ids;
  for (std::size_t v = 0; v < views.size(); ++v) {
    std::vector<double> start;
    for (const double x : views[v]) start.push_back(x + 0.1 * d.away * d.gauss());
    if (v == 0) start[3] = views[0][3];
    ids.push_back(s.block(start));
  }
  s.hold_numbers(ids[0], {3});  // fixes the scale
  for (int i = 0; i < 25; ++i) {
    const double ray[2] = {0.4 * d.gauss(), 0.4 * d.gauss()},
                 inverse = i < 3 ? 1e-5 : 1 / d.noise.uniform(3, 30);
    const int depth = s.block({d.away > 0.5 ? 0.1 : inverse * std::exp(d.away * d.gauss())});
    for (std::size_t v = 0; v < views.size(); ++v) {
      const double p[3] = {ray[0], ray[1], 1};
      double u[3];
      rotate(views[v].data(), p, u);
      for (std::size_t k = 0; k < 3; ++k) u[k] += inverse * views[v][3 + k];
      s.add<2, 6, 1>(
          InverseDepth{
              {ray[0], ray[1]}, {u[0] / u[2] + 0.1 * d.error(), u[1] / u[2] + 0.1 * d.error()}, d.weight()},
          {ids[v], depth}, d.loss);
    }
  }
  s.scale = d.scale(1);
  return s;
}

}  // namespace blocks
