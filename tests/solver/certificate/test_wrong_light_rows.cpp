// Tests that wrong derivatives of rows of small weight are seen where these rows alone determine a direction.
// Rows of large weight then fill the columns, so that errors are small beside a column.
#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

using namespace nlsq;

namespace {

using Vector = std::vector<double>;

// Positions along a way in a plane. Odometry between neighbours is precise; ranges to beacons and fixes tell
// where all positions are. The derivatives of ranges by y are multiplied by `factor`.
class Positions {
 public:
  Positions(int count, double odometry, double factor, double offset = 0)
      : count_(count), odometry_(odometry), factor_(factor), offset_(offset) {
    std::mt19937 bits(7);
    std::normal_distribution<double> normal;
    for (int i = 0; i < count; ++i) {
      start.push_back(offset + i + 2 + normal(bits));
      start.push_back(offset + 3 + normal(bits));
      const double x = odometry * normal(bits), y = odometry * normal(bits);
      if (i > 0) moves_.push_back({1 + x, y});
      for (const auto& b : kBeacons) ranges_.push_back(std::hypot(i - b[0], b[1]) + normal(bits));
      fixes_.push_back({i + 2 * normal(bits), 2 * normal(bits)});
    }
  }
  int rows() const { return 8 * count_ - 2; }
  // Writes residuals, and J unless it is null.
  void operator()(const double* p, double* r, double* J) const {
    const int n = 2 * count_;
    int row = 0;
    const auto set = [&](int column, double value) {
      if (J) J[row * n + column] = value;
    };
    if (J) std::fill_n(J, rows() * n, 0.0);
    for (int i = 0; i < count_; ++i) {
      for (int c = 0; i > 0 && c < 2; ++c, ++row) {
        r[row] = (p[2 * i + c] - p[2 * i - 2 + c] - moves_[i - 1][c]) / odometry_;
        set(2 * i + c, 1 / odometry_);
        set(2 * i - 2 + c, -1 / odometry_);
      }
      for (int b = 0; b < 4; ++b, ++row) {
        const double x = p[2 * i] - (offset_ + kBeacons[b][0]), y = p[2 * i + 1] - (offset_ + kBeacons[b][1]);
        const double range = std::hypot(x, y);
        r[row] = range - ranges_[4 * i + b];
        set(2 * i, x / range);
        set(2 * i + 1, factor_ * y / range);
      }
      for (int c = 0; c < 2; ++c, ++row) {
        r[row] = (p[2 * i + c] - offset_ - fixes_[i][c]) / 2;
        set(2 * i + c, 0.5);
      }
    }
  }

  Vector start;

 private:
  static constexpr double kBeacons[4][2] = {{-5, -8}, {20, -6}, {8, 15}, {-9, 12}};
  int count_;
  double odometry_, factor_, offset_;
  Vector ranges_;
  std::vector<std::array<double, 2>> moves_, fixes_;
};

// A block function with derivatives of its own. `Rows` writes residuals, and J unless it is null.
template <class Rows>
class Own : public BlockFunction {
 public:
  explicit Own(Rows rows) : BlockFunction(rows.rows()), rows_(std::move(rows)) {}
  Derivatives derivatives_by() const override { return Derivatives::own; }
  const void* kind() const override {
    static int kind;
    return &kind;
  }
  bool value(const double* const* blocks, double* r) const override {
    rows_(blocks[0], r, nullptr);
    return true;
  }
  bool derivatives(const double* const* blocks, double* r, double* const* J) const override {
    rows_(blocks[0], r, J[0]);
    return true;
  }

 private:
  Rows rows_;
};

template <class Rows>
Summary solved_as_block(const Rows& rows, Vector x) {
  Problem problem;
  problem.add_parameter_block(std::span<double>(x));
  const std::vector<BlockRef> blocks{BlockRef(x.data())};
  problem.add_residual_block(std::make_shared<Own<Rows>>(rows), Loss{}, blocks);
  return solve(problem);
}

Summary by_blocks(const Positions& positions) { return solved_as_block(positions, positions.start); }

Summary by_function(const Positions& positions) {
  LeastSquaresOptions options;
  Vector r(positions.rows());
  options.jacobian = [&](std::span<const double> p, std::span<double> J) {
    positions(p.data(), r.data(), J.data());
  };
  const auto residuals = [&](const Vector& p) {
    Vector out(positions.rows());
    positions(p.data(), out.data(), nullptr);
    return out;
  };
  return least_squares(residuals, positions.start, options).summary;
}

using Solve = Summary (*)(const Positions&);

// Tests that a success is near the minimum that right derivatives give. The measure aims at a tenth of a
// standard error, and is random where there are more unknowns than moves.
void check(Solve solve, int count, double odometry, double offset) {
  const auto solved = [&](double factor) { return solve(Positions(count, odometry, factor, offset)); };
  const Summary right = solved(1);
  CAPTURE(count);
  CAPTURE(odometry);
  CAPTURE(offset);
  CAPTURE(right.message);
  CHECK(is_success(right.verdict));
  const double sigma = std::sqrt(2 * right.final_cost / (6 * count - 2));
  int seen = 0;
  for (const double factor : {0.0, 0.5, 2.0}) {
    const Summary wrong = solved(factor);
    CAPTURE(factor);
    CAPTURE(wrong.message);
    const double left = std::sqrt(2 * std::fmax(0.0, wrong.final_cost - right.final_cost)) / sigma;
    CAPTURE(left);
    CHECK((left < 0.15 || !is_success(wrong.verdict)));
    seen += wrong.message.find("disagree") != std::string::npos ? 1 : 0;
  }
  CHECK(seen > 0);
}

// Places on a line in map coordinates, with fixes and with distances on a scale that is unknown. The
// derivatives by the scale, which is the last unknown, are multiplied by `factor`.
class Scaled {
 public:
  explicit Scaled(double factor) : factor_(factor) {}
  static constexpr int kPlaces = 40;
  static double place(int i) { return 4e6 + 10 * i; }
  int rows() const { return 2 * kPlaces - 1; }
  void operator()(const double* p, double* r, double* J) const {
    constexpr int n = kPlaces + 1;
    if (J) std::fill_n(J, n * rows(), 0.0);
    for (int i = 0; i < kPlaces; ++i) {
      r[i] = 2 * (p[i] - place(i) - 0.5 * std::sin(7 * i));
      if (J) J[i * n + i] = 2;
    }
    for (int i = 1, row = kPlaces; i < kPlaces; ++i, ++row) {
      const double measured = 9.5 + 0.05 * std::sin(11 * i);
      r[row] = 20 * (p[i] - p[i - 1] - (1 + p[kPlaces]) * measured);
      if (!J) continue;
      J[row * n + i] = 20;
      J[row * n + i - 1] = -20;
      J[row * n + kPlaces] = -20 * factor_ * measured;
    }
  }

 private:
  double factor_;
};

}  // namespace

TEST_CASE("blocks: wrong derivatives of light rows are seen beside rows of large weight") {
  for (const int count : {3, 10})
    for (const double odometry : {1e-3, 1e-4, 1e-5, 1e-6}) check(by_blocks, count, odometry, 0);
}

TEST_CASE("blocks: wrong derivatives are seen in map coordinates, whose local scale is metres") {
  for (const double offset : {1e5, 4e6})
    for (const double odometry : {1e-2, 1e-3}) check(by_blocks, 3, odometry, offset);
}

TEST_CASE("blocks: wrong derivatives are seen among many unknowns") {
  for (const double offset : {0.0, 4e6})
    for (const double odometry : {1e-1, 1e-3}) check(by_blocks, 40, odometry, offset);
}

TEST_CASE("residual functions: wrong derivatives of light rows are seen beside rows of large weight") {
  for (const int count : {3, 10})
    for (const double odometry : {1e-3, 1e-4, 1e-5, 1e-6}) check(by_function, count, odometry, 0);
}

TEST_CASE("residual functions: wrong derivatives are seen in map coordinates and among many unknowns") {
  for (const double offset : {0.0, 1e5, 4e6})
    for (const int count : {3, 40}) check(by_function, count, 1e-2, offset);
}

TEST_CASE("blocks: a shared unknown whose derivatives were forgotten is seen among many unknowns") {
  for (const double factor : {1.0, 0.0}) {
    Vector x(Scaled::kPlaces + 1, 0.02);
    for (int i = 0; i < Scaled::kPlaces; ++i) x[i] = Scaled::place(i) + std::cos(5 * i);
    const Summary summary = solved_as_block(Scaled(factor), x);
    CAPTURE(factor);
    CAPTURE(summary.message);
    CHECK(is_success(summary.verdict) == (factor == 1));
  }
}
