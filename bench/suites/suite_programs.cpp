// Suite programs solves small programs for Ceres, of 3 to 180 unknowns. The same ceres::Problem is solved by
// nlsq::Solve with Ceres's cost functions and with nlsq's, and by ceres::Solve. Most of these solves take
// less than a millisecond. Their time depends on how often the functions are called, and on the set-up of the
// solve.
#include "suites/suites.hpp"

#if NLSQ_BENCH_CERES_ENTRY
#include <nlsq/ceres.hpp>

#include <ceres/ceres.h>
#include <ceres/rotation.h>

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace bench {

namespace {

using Numbers = std::vector<double>;

// Measures the pixel at which a camera sees a point. `pose` is the rotation and the translation of the
// camera, and `lens` its focal length and two numbers of distortion.
struct Seen {
  std::array<double, 3> point;
  double u, v;
  template <class T>
  bool operator()(const T* pose, const T* lens, T* r) const {
    const T P[3] = {T(point[0]), T(point[1]), T(point[2])};
    T q[3];
    ceres::AngleAxisRotatePoint(pose, P, q);
    const T a = (q[0] + pose[3]) / (q[2] + pose[5]), b = (q[1] + pose[4]) / (q[2] + pose[5]);
    const T d = a * a + b * b, scale = lens[0] * (T(1) + d * (lens[1] + lens[2] * d));
    r[0] = scale * a - T(u);
    r[1] = scale * b - T(v);
    return true;
  }
};

struct Posed {  // a point that is seen by a camera whose lens is known
  Seen seen;
  template <class T>
  bool operator()(const T* pose, T* r) const {
    const T lens[3] = {T(500), T(0), T(0)};
    return seen(pose, lens, r);
  }
};

struct Mapped {  // a point that a homography maps from (x, y) to (u, v)
  double x, y, u, v;
  template <class T>
  bool operator()(const T* h, T* r) const {
    const T w = h[6] * T(x) + h[7] * T(y) + T(1);
    r[0] = (h[0] * T(x) + h[1] * T(y) + h[2]) / w - T(u);
    r[1] = (h[3] * T(x) + h[4] * T(y) + h[5]) / w - T(v);
    return true;
  }
};

struct Decay {
  double x, y;
  template <class T>
  bool operator()(const T* p, T* r) const {
    using std::exp;
    r[0] = T(y) - (p[0] * exp(-p[1] * T(x)) + p[2]);
    return true;
  }
};

struct WholeDecay {  // a residual block of all rows
  static constexpr int kRows = 20000;
  std::vector<Decay> rows;
  template <class T>
  bool operator()(const T* p, T* r) const {
    for (const Decay& row : rows) row(p, r++);
    return true;
  }
};

struct Moved {  // the motion between two poses in the plane
  std::array<double, 3> by;
  double weight = 1;
  template <class T>
  bool operator()(const T* a, const T* b, T* r) const {
    using std::cos, std::sin;
    const T c = cos(a[2]), s = sin(a[2]), dx = b[0] - a[0], dy = b[1] - a[1];
    r[0] = (c * dx + s * dy - T(by[0])) * T(10 * weight);
    r[1] = (c * dy - s * dx - T(by[1])) * T(10 * weight);
    r[2] = (b[2] - a[2] - T(by[2])) * T(50 * weight);
    return true;
  }
};

struct Placed {  // a measured point in space
  std::array<double, 3> at;
  template <class T>
  bool operator()(const T* p, T* r) const {
    for (std::size_t i = 0; i < 3; ++i) r[i] = p[i] - T(at[i]);
    return true;
  }
};

struct Rod {  // the distance of two points
  double length, weight;
  template <class T>
  bool operator()(const T* a, const T* b, T* r) const {
    using std::sqrt;
    const T x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
    r[0] = T(weight) * (sqrt(x * x + y * y + z * z) - T(length));
    return true;
  }
};

struct Knot {  // a value between two knots of a broken line
  double share, y;
  template <class T>
  bool operator()(const T* a, const T* b, T* r) const {
    r[0] = a[0] + (b[0] - a[0]) * T(share) - T(y);
    return true;
  }
};

template <class Functor, int residuals, int... sizes>
using PlainAutoDiff = ceres::AutoDiffCostFunction<Functor, residuals, sizes...>;
template <class Functor, int residuals, int... sizes>
using OurAutoDiff = nlsq::AutoDiffCostFunction<Functor, residuals, sizes...>;

// Holds a problem, its blocks and their start.
struct Program {
  ceres::Problem problem;
  std::deque<Numbers> blocks;
  std::vector<Numbers> start;
  ceres::Solver::Options options;
  std::mt19937 random{1};

  double* block(Numbers values) {
    start.push_back(values);
    return blocks.emplace_back(std::move(values)).data();
  }
  double noise(double size) { return std::normal_distribution<double>(0, size)(random); }
  double uniform(double from, double to) { return std::uniform_real_distribution<double>(from, to)(random); }
};

// Builds the cases with one class of cost functions.
template <template <class, int, int...> class AutoDiff>
struct Cases {
  template <int residuals, int... sizes, class Functor, class... Blocks>
  static void add(Program& to, Functor functor, ceres::LossFunction* loss, Blocks... blocks) {
    to.problem.AddResidualBlock(new AutoDiff<Functor, residuals, sizes...>(new Functor(std::move(functor))),
                                loss, blocks...);
  }

  static Seen view(Program& to, const double* lens) {
    const double pose[6] = {0.1, -0.2, 0.05, 0.1, 0.2, 5};
    Seen seen{{to.uniform(-1, 1), to.uniform(-1, 1), to.uniform(-1, 1)}, 0, 0};
    double r[2];
    seen(pose, lens, r);
    seen.u = r[0] + to.noise(0.5), seen.v = r[1] + to.noise(0.5);
    return seen;
  }
  static void camera(Program& to) {
    const double lens[3] = {500, -0.1, 0.02};
    double *pose = to.block({0.12, -0.17, 0.03, 0.15, 0.1, 5.2}), *found = to.block({480, 0, 0});
    for (int i = 0; i < 40; ++i) add<2, 6, 3>(to, view(to, lens), nullptr, pose, found);
  }
  static void pose(Program& to) {
    const double lens[3] = {500, 0, 0};
    double* found = to.block({0.12, -0.17, 0.03, 0.15, 0.1, 5.2});
    for (int i = 0; i < 200; ++i) add<2, 6>(to, Posed{view(to, lens)}, nullptr, found);
  }
  static void homography(Program& to) {
    const double truth[8] = {1.1, 0.05, 3, -0.04, 0.95, -2, 1e-3, -5e-4};
    double* h = to.block({1, 0, 0, 0, 1, 0, 0, 0});
    for (int i = 0; i < 50; ++i) {
      Mapped mapped{to.uniform(0, 100), to.uniform(0, 100), 0, 0};
      double r[2];
      mapped(truth, r);
      mapped.u = r[0] + to.noise(0.3), mapped.v = r[1] + to.noise(0.3);
      add<2, 8>(to, mapped, nullptr, h);
    }
  }
  static Decay row(Program& to, double x) { return {x, 3 * std::exp(-0.7 * x) + 0.5 + to.noise(0.05)}; }
  static void decay(Program& to) {
    double* p = to.block({1, 1, 0});
    for (int i = 0; i < 100; ++i) add<1, 3>(to, row(to, 0.1 * i), nullptr, p);
  }
  static void outliers(Program& to) {
    double* p = to.block({1, 1, 0});
    for (int i = 0; i < 100; ++i) {
      Decay one = row(to, 0.1 * i);
      if (i % 10 == 3) one.y += 3;
      add<1, 3>(to, one, new ceres::CauchyLoss(0.1), p);
    }
  }
  static void one_block(Program& to) {
    double* p = to.block({1, 1, 0});
    WholeDecay all;
    for (int i = 0; i < WholeDecay::kRows; ++i) all.rows.push_back(row(to, 5e-4 * i));
    add<WholeDecay::kRows, 3>(to, std::move(all), nullptr, p);
  }
  // Poses on a circle. If `heavy` is not 1, it is the weight of one measurement in ten that closes a loop.
  template <int number, int heavy = 1, bool anchored = true>
  static void poses(Program& to) {
    std::vector<double*> at;
    std::vector<Numbers> truth;
    for (int i = 0; i < number; ++i) {
      const double angle = 6.283 * i / number;
      truth.push_back({10 * std::cos(angle), 10 * std::sin(angle), angle + 1.571});
      Numbers near = truth.back();
      if (i > 0) near = {near[0] + to.noise(0.2), near[1] + to.noise(0.2), near[2] + to.noise(0.05)};
      at.push_back(to.block(near));
    }
    for (int i = 0; i < number; ++i) {
      for (const int apart : {1, number > 5 ? 5 : 2}) {
        if (i + apart >= number) continue;
        Moved moved{};
        double r[3];
        const auto a = static_cast<std::size_t>(i), b = static_cast<std::size_t>(i + apart);
        moved(truth[a].data(), truth[b].data(), r);
        moved.by = {0.1 * r[0] + to.noise(0.1), 0.1 * r[1] + to.noise(0.1), 0.02 * r[2] + to.noise(0.02)};
        if (apart > 1 && i % 10 == 0) moved.weight = heavy;
        add<3, 3, 3>(to, moved, nullptr, at[a], at[b]);
      }
    }
    if (anchored) to.problem.SetParameterBlockConstant(at[0]);
    to.options.linear_solver_type = ceres::SPARSE_NORMAL_CHOLESKY;
  }
  // A chain of points, half of them measured, with rods of fixed length.
  template <int heavy>
  static void rods(Program& to) {
    constexpr int kPoints = 52;
    std::vector<double*> at;
    for (int i = 0; i < kPoints; ++i) {
      const std::array<double, 3> truth{1.0 * i, std::sin(0.2 * i), 0};
      at.push_back(to.block({truth[0] + to.noise(0.1), truth[1] + to.noise(0.1), truth[2] + to.noise(0.1)}));
      const Placed placed{{truth[0] + to.noise(0.05), truth[1] + to.noise(0.05), truth[2] + to.noise(0.05)}};
      if (i % 2 == 0) add<3, 3>(to, placed, nullptr, at.back());
    }
    for (std::size_t i = 1; i < at.size(); ++i) {
      add<1, 3, 3>(to, Rod{1.02, heavy}, nullptr, at[i - 1], at[i]);
      if (i >= 2) add<1, 3, 3>(to, Rod{2, 1}, nullptr, at[i - 2], at[i]);
      if (i >= 3) add<1, 3, 3>(to, Rod{3, 1}, nullptr, at[i - 3], at[i]);
    }
    to.options.linear_solver_type = ceres::SPARSE_NORMAL_CHOLESKY;
  }
  static void line(Program& to) {
    constexpr int kKnots = 53;
    std::vector<double*> knots;
    for (int i = 0; i < kKnots; ++i) knots.push_back(to.block({0}));
    for (int i = 0; i < 500; ++i) {
      const double x = to.uniform(0, kKnots - 1.001);
      const auto k = static_cast<std::size_t>(x);
      add<1, 1, 1>(to, Knot{x - static_cast<double>(k), std::sin(0.3 * x) + to.noise(0.1)}, nullptr, knots[k],
                   knots[k + 1]);
    }
  }
};

using WithTheirs = Cases<PlainAutoDiff>;
using WithOurs = Cases<OurAutoDiff>;

struct Case {
  const char* name;
  void (*with_theirs)(Program&);
  void (*with_ours)(Program&);
};
constexpr Case kCases[] = {
    {"camera of 9 unknowns, 40 points", WithTheirs::camera, WithOurs::camera},
    {"pose of 6, 200 points", WithTheirs::pose, WithOurs::pose},
    {"homography of 8, 50 points", WithTheirs::homography, WithOurs::homography},
    {"decay of 3, 100 rows", WithTheirs::decay, WithOurs::decay},
    {"the same with Cauchy's loss and outliers", WithTheirs::outliers, WithOurs::outliers},
    {"the same, 20,000 rows in one block", WithTheirs::one_block, WithOurs::one_block},
    {"20 poses in the plane", WithTheirs::poses<20>, WithOurs::poses<20>},
    {"60 poses in the plane", WithTheirs::poses<60>, WithOurs::poses<60>},
    {"60 poses, 6 loops of weight 1e6", WithTheirs::poses<60, 1000000>, WithOurs::poses<60, 1000000>},
    {"52 points, rods of weight 1e6", WithTheirs::rods<1000000>, WithOurs::rods<1000000>},
    {"52 points, rods of weight 1e8", WithTheirs::rods<100000000>, WithOurs::rods<100000000>},
    {"5 poses without an anchor", WithTheirs::poses<5, 1, false>, WithOurs::poses<5, 1, false>},
    {"20 poses without an anchor", WithTheirs::poses<20, 1, false>, WithOurs::poses<20, 1, false>},
    {"broken line of 53 knots, 500 rows", WithTheirs::line, WithOurs::line}};

// Solves the program from its start. Returns the cost.
template <class Solve>
Contender contender(const char* name, void (*build)(Program&), Solve solve) {
  const auto program = std::make_shared<Program>();
  build(*program);
  program->options.logging_type = ceres::SILENT;
  return {name, [program, solve] {
            for (std::size_t i = 0; i < program->start.size(); ++i) program->blocks[i] = program->start[i];
            ceres::Solver::Summary summary;
            solve(program->options, &program->problem, &summary);
            return Numbers{summary.final_cost};
          }};
}

}  // namespace

void run_programs(const Settings& settings) {
  settings.report->begin_suite(
      "programs", "small programs for Ceres by nlsq::Solve and by ceres::Solve, default options, one thread");
  const auto theirs = [](const auto& options, auto* problem, auto* summary) {
    ceres::Solve(options, problem, summary);
  };
  const auto ours = [](const auto& options, auto* problem, auto* summary) {
    nlsq::Solve(options, problem, summary);
  };
  for (const Case& one : kCases) {
    const std::vector<Contender> contenders = {contender("Ceres's cost functions", one.with_theirs, ours),
                                               contender("nlsq's cost functions", one.with_ours, ours),
                                               contender("Ceres", one.with_theirs, theirs)};
    const std::vector<Measured> measured = measure(contenders, settings);
    for (std::size_t mine = 0; mine < 2; ++mine) {
      Row row;
      row.suite = "programs";
      row.name = fmt::format("{}, {}", one.name, contenders[mine].name);
      row.ours_s = measured[mine].seconds;
      row.peer = "Ceres";
      row.peer_s = measured[2].seconds;
      row.max_rel_diff = largest_difference(measured[mine].result, measured[2].result);
      row.sound = measured[mine].result[0] <= measured[2].result[0] * (1 + 1e-6);
      row.note = "difference: of the costs";
      settings.report->add(row);
    }
  }
}

}  // namespace bench

#else

namespace bench {
void run_programs(const Settings& settings) {
  settings.report->begin_suite("programs", "built without Ceres: nothing to compare");
}
}  // namespace bench

#endif
