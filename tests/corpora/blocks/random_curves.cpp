// Defines random block problems of curves, and of models that are linear in parts of their blocks.
#include "random_blocks.hpp"

namespace blocks {

namespace {

// Computes the reaction A -> B -> C, integrated by Runge and Kutta's method.
struct Kinetics {
  double t, y, unit_of_time, weight;
  template <class T>
  bool operator()(const T* k, const T* a0, T* r) const {
    const T k1 = k[0] * unit_of_time, k2 = k[1] * unit_of_time;
    T a = a0[0], b = T(0.0);
    const double h = t / 12;
    for (int i = 0; i < 12; ++i) {
      const T a1 = -k1 * a, b1 = k1 * a - k2 * b;
      const T am = a + 0.5 * h * a1, bm = b + 0.5 * h * b1;
      const T a2 = -k1 * am, b2 = k1 * am - k2 * bm;
      a = a + h * a2, b = b + h * b2;
    }
    r[0] = weight * (b - y);
    return true;
  }
};

}  // namespace

Scene kinetics(Draw& d) {
  Scene s;
  const double unit = d.pick({1e-6, 1, 1e6}), k[2] = {0.9 / unit, 0.4 / unit};
  const int rates = s.block({k[0] * std::exp(d.away * d.gauss()), k[1] * std::exp(d.away * d.gauss())});
  for (int e = 0; e < 3; ++e) {
    const double amount = d.noise.uniform(1, 5);
    const int own = s.block({amount * (1 + d.away)});
    for (int i = 1; i <= 12; ++i) {
      Kinetics row{0.5 * i, 0, unit, d.weight()};
      double exact = 0;
      Kinetics probe{row.t, 0, unit, 1};
      probe(k, &amount, &exact);
      row.y = exact + d.error();
      s.add<1, 2, 1>(row, {rates, own}, d.loss);
    }
  }
  s.scale = d.scale(1);
  return s;
}

namespace {

// Hill curves share their plateaus; each has a place and a slope of its own.
struct Hill {
  double log_dose, y, weight;
  template <class T>
  bool operator()(const T* plateaus, const T* own, T* r) const {
    using std::exp;
    r[0] = weight *
           (plateaus[0] +
            (plateaus[1] - plateaus[0]) / (1.0 + exp(2.302585092994046 * own[1] * (own[0] - log_dose))) - y);
    return true;
  }
};

}  // namespace

Scene doses(Draw& d) {
  Scene s;
  const double truth[2] = {d.offset, d.offset + 3};
  const int plateaus = s.block({truth[0] + d.away, truth[1] - d.away});
  for (int c = 0; c < 5; ++c) {
    const double own[2] = {-7 + 0.6 * c, 0.8 + 0.2 * c};
    const int block = s.block({own[0] + 2 * d.away * d.gauss(), own[1] * std::exp(0.5 * d.away * d.gauss())});
    for (int i = 0; i < 9; ++i) {
      Hill row{-9.0 + 0.6 * i, 0, d.weight()};
      double y = 0;
      Hill{row.log_dose, 0, 1}(truth, own, &y);
      row.y = y + d.error();
      s.add<1, 2, 2>(row, {plateaus, block}, d.loss);
    }
  }
  s.scale = d.scale(3 + d.offset);
  return s;
}

namespace {

// Computes an entry of a matrix of rank two; other entries are missing.
struct Entry {
  double y, weight;
  template <class T>
  bool operator()(const T* u, const T* v, T* r) const {
    r[0] = weight * (u[0] * v[0] + u[1] * v[1] - y);
    return true;
  }
};
template <int size>
struct Ridge {
  double weight;
  template <class T>
  bool operator()(const T* u, T* r) const {
    for (int i = 0; i < size; ++i) r[i] = weight * u[i];
    return true;
  }
};

}  // namespace

Scene factors(Draw& d, bool ridge) {
  Scene s;
  std::vector<int> rows, columns;
  std::vector<std::array<double, 2>> u, v;
  const double uneven = d.pick({1, 1e3, 1e-5});
  for (int i = 0; i < 8; ++i) {
    u.push_back({d.gauss(), d.gauss()}), v.push_back({d.gauss(), d.gauss()});
    rows.push_back(
        s.block({uneven * (u.back()[0] + d.away * d.gauss()), uneven * (u.back()[1] + d.away * d.gauss())}));
    columns.push_back(
        s.block({(v.back()[0] + d.away * d.gauss()) / uneven, (v.back()[1] + d.away * d.gauss()) / uneven}));
  }
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t j = 0; j < 8; ++j) {
      if (d.noise.uniform() < 0.25) continue;
      s.add<1, 2, 2>(Entry{u[i][0] * v[j][0] + u[i][1] * v[j][1] + d.error(), d.weight()},
                     {rows[i], columns[j]}, d.loss);
    }
  }
  if (ridge) {
    for (const int b : rows) s.add<2, 2>(Ridge<2>{0.1 * d.weight() / uneven}, {b});
    for (const int b : columns) s.add<2, 2>(Ridge<2>{0.1 * d.weight() * uneven}, {b});
  }
  s.scale = d.scale(1);
  return s;
}

namespace {

// The curve has two peaks on a slope. Each peak is a block.
struct TwoPeaks {
  double x, y, weight;
  template <class T>
  bool operator()(const T* a, const T* b, const T* slope, T* r) const {
    using std::exp;
    const T u = (x - a[1]) / a[2], v = (x - b[1]) / b[2];
    r[0] = weight * (a[0] * exp(-0.5 * u * u) + b[0] / (1.0 + v * v) + slope[0] + slope[1] * x - y);
    return true;
  }
};

}  // namespace

Scene peaks(Draw& d) {
  Scene s;
  const double apart = d.pick({4, 2, 0.7}), a[3] = {3, d.offset / 1e3 + 4, 0.6},
               b[3] = {2, a[1] + apart, 0.5}, slope[2] = {d.offset, 0.1};
  const auto moved = [&](const double* p) {
    return std::vector<double>{p[0] * std::exp(0.5 * d.away * d.gauss()), p[1] + d.away * d.gauss(),
                               p[2] * std::exp(0.5 * d.away * d.gauss())};
  };
  const int A = s.block(moved(a)), B = s.block(moved(b)), S = s.block({slope[0] + d.away, 0});
  if (d.noise.uniform() < 0.5) {
    s.bound(A, 2, 0.05, d.pick({0.5, 5})), s.bound(B, 2, 0.05, 5);
    if (d.noise.uniform() < 0.3) s.bound(S, 1, -kNone, 0);
  }
  for (int i = 0; i < 60; ++i) {
    TwoPeaks f{a[1] - 4 + 0.2 * i, 0, 1};
    double y = 0;
    f(a, b, slope, &y);
    f.y = y + d.error(), f.weight = d.weight();
    s.add<1, 3, 3, 2>(f, {A, B, S}, d.loss);
  }
  s.scale = d.scale(3 + d.offset);
  return s;
}

namespace {

// Growth of several subjects around a common mean.
struct Growth {
  double t, y, weight;
  template <class T>
  bool operator()(const T* p, T* r) const {
    using std::exp;
    r[0] = weight * (p[0] / (1.0 + exp(-p[2] * (t - p[1]))) - y);
    return true;
  }
};
struct AroundMean {
  double weights[3];
  template <class T>
  bool operator()(const T* own, const T* mean, T* r) const {
    for (int i = 0; i < 3; ++i) r[i] = weights[i] * (own[i] - mean[i]);
    return true;
  }
};

}  // namespace

Scene growth(Draw& d) {
  Scene s;
  const double size = d.pick({1, 1e6, 1e-6}), day = d.pick({1, 1.7e9}), mean[3] = {size, day + 10, 0.5};
  const int m =
      s.block({size * (1 + d.away), day + 10 + 3 * d.away, 0.5 * std::exp(0.5 * d.away * d.gauss())});
  for (int k = 0; k < 6; ++k) {
    const double own[3] = {size * (1 + 0.1 * d.gauss()), mean[1] + d.gauss(), 0.5 + 0.05 * d.gauss()};
    const int b = s.block({own[0] * std::exp(0.5 * d.away * d.gauss()), own[1] + 2 * d.away * d.gauss(),
                           own[2] * std::exp(0.5 * d.away * d.gauss())});
    const double w = d.weight() / size, tight = d.pick({1, 10, 1e4});
    s.add<3, 3, 3>(AroundMean{{10 * tight * w * size / size, tight * w * size, 20 * tight * w * size}},
                   {b, m});
    const int rows = k == 5 ? 1 : 12;  // only the mean determines the last subject
    for (int i = 0; i < rows; ++i) {
      const double t = day + 1.7 * i;
      const double y = own[0] / (1 + std::exp(-own[2] * (t - own[1]))) + size * d.error();
      s.add<1, 3>(Growth{t, y, w}, {b}, d.loss);
    }
  }
  s.scale = d.scale(day > 1 ? 1e7 : 1);
  return s;
}

namespace {

// Computes a network of three tanh units on one input.
struct Net {
  double x, y, weight;
  template <class T>
  bool operator()(const T* in, const T* bias, const T* out, T* r) const {
    using std::tanh;
    T sum = out[3];
    for (int i = 0; i < 3; ++i) sum = sum + out[i] * tanh(in[i] * x + bias[i]);
    r[0] = weight * (sum - y);
    return true;
  }
};

}  // namespace

Scene network(Draw& d) {
  Scene s;
  const auto random = [&](int n) {
    std::vector<double> v;
    for (int i = 0; i < n; ++i) v.push_back((0.3 + d.away) * d.gauss());
    return v;
  };
  const int in = s.block(random(3)), bias = s.block(random(3)), out = s.block(random(4));
  for (int i = 0; i < 40; ++i) {
    const double x = -3 + 0.15 * i;
    s.add<1, 3, 3, 4>(Net{x, std::sin(x) + 0.3 * x + d.error(), d.weight()}, {in, bias, out}, d.loss);
  }
  s.scale = d.scale(1);
  return s;
}

namespace {

// The curve is a quotient with poles plus a logarithm that exists on one side only.
struct Quotient {
  double x, y, weight;
  template <class T>
  bool operator()(const T* top, const T* bottom, const T* inside, T* r) const {
    using std::log;
    if (!(inside[0] + inside[1] * x > 0.0)) return false;
    r[0] = weight * ((top[0] + top[1] * x) / (1.0 + bottom[0] * x + bottom[1] * x * x) +
                     log(inside[0] + inside[1] * x) - y);
    return true;
  }
};

}  // namespace

Scene quotient(Draw& d) {
  Scene s;
  const double top[2] = {1, 2}, bottom[2] = {0.3, 0.05}, inside[2] = {0.5, 0.8};
  const int T = s.block({1 + d.away * d.gauss(), 2 + d.away * d.gauss()}),
            B = s.block({0.3 * std::exp(d.away * d.gauss()), 0.05 * std::exp(d.away * d.gauss())}),
            I = s.block({0.5 * std::exp(0.5 * d.away * d.gauss()), 0.8 * std::exp(0.5 * d.away * d.gauss())});
  for (int i = 0; i < 50; ++i) {
    Quotient f{0.2 * i, 0, 1};
    double y = 0;
    f(top, bottom, inside, &y);
    f.y = y + d.error(), f.weight = d.weight();
    if (d.noise.uniform() < 0.5) s.add<1, 2, 2, 2>(f, {T, B, I}, d.loss);
    else s.add_differences<1, 2, 2, 2>(f, {T, B, I}, d.loss);
  }
  s.scale = d.scale(5);
  return s;
}

namespace {

// The curve is a tide: a sine with an unknown frequency and a straight line, at times since 1970.
struct Tide {
  double t, y, since, weight;
  template <class T>
  bool operator()(const T* wave, const T* clock, const T* level, T* r) const {
    using std::sin;
    r[0] =
        weight * (wave[0] * sin(wave[1] * (t - since) + wave[2]) + level[0] + level[1] * (t - clock[0]) - y);
    return true;
  }
};

}  // namespace

Scene tide(Draw& d) {
  Scene s;
  const double epoch = d.pick({0, 1.7e9}), hour = d.pick({1, 3600}), w = 0.5 / hour;
  const int W = s.block({2 * std::exp(d.away * d.gauss()), w * (1 + 0.05 * std::min(d.away, 1.0) * d.gauss()),
                         0.3 + d.away}),
            C = s.block({epoch}), L = s.block({d.offset + d.away, 0.01 / hour});
  s.hold(C);
  for (int i = 0; i < 60; ++i) {
    const double t = epoch + hour * i * 0.7;
    const double y = 2 * std::sin(w * (t - epoch) + 0.3) + d.offset + 0.01 * (t - epoch) / hour + d.error();
    s.add<1, 3, 1, 2>(Tide{t, y, epoch, d.weight()}, {W, C, L}, d.loss);
  }
  s.scale = d.scale(2 + d.offset);
  return s;
}

}  // namespace blocks
