// Compares a tape or a formula with a callback of the same model on all rows.
#include "c/caller_fit.hpp"
#include "c/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace nlsq::inline v0::c {

namespace {

constexpr std::size_t kBlock = 4096;

constexpr double kRounding = 0x1p-40;  // of the result of an operation, 2^13 times its rounding

// Perturbs every operation by `share` of its result, with signs by a fixed generator.
std::vector<double> perturbation(std::size_t steps, double share, std::uint64_t seed) {
  std::vector<double> noise(steps);
  std::uint64_t state = seed;
  for (double& one : noise) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    one = (state >> 63) != 0 ? share : -share;
  }
  return noise;
}

// Holds the columns as doubles, from row `first` on.
class Block {
 public:
  Block(const Columns& x, std::size_t first, std::size_t count) : copies_(x.size()) {
    for (std::size_t k = 0; k < x.size(); ++k) {
      const Column& column = x.list()[k];
      const double* direct = column.direct_f64(first);
      if (direct == nullptr) {
        copies_[k].resize(count);
        column.read(first, count, copies_[k].data());
        direct = copies_[k].data();
      }
      pointers_.push_back(direct);
    }
  }
  std::span<const double* const> columns() const { return pointers_; }

 private:
  std::vector<std::vector<double>> copies_;
  std::vector<const double*> pointers_;
};

bool close(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::fabs(a - b) <= tolerance * std::max(std::fabs(a), std::fabs(b));
}

}  // namespace

double rounding_of(const CallerModel& model, const Columns& x, std::size_t row, const std::vector<double>& p,
                   double share) {
  if (!model.tape) return 0;
  const Block block(x, row, 1);
  const auto value = [&](std::span<const double> noise) {
    double out = 0;
    model.evaluate_rows(block.columns(), p, 1, noise, &out);
    return out;
  };
  const double exact = value({});
  double most = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    most = std::max(most, std::fabs(value(perturbation(model.tape->steps().size(), share, seed)) - exact));
  return most;
}

void recheck_model(const CallerModel& model, const Columns& x, std::size_t rows, const std::vector<double>& p,
                   double tolerance, const char* when) {
  std::vector<double> called(rows, std::nan(""));
  model.recheck.call(p.data(), called.data(), nullptr);
  std::array<double, kBlock> values;
  for (std::size_t first = 0; first < rows; first += kBlock) {
    const std::size_t count = std::min(kBlock, rows - first);
    model.evaluate_rows(Block(x, first, count).columns(), p, count, {}, values.data());
    for (std::size_t i = 0; i < count; ++i) {
      const double ours = values[i], theirs = called[first + i];
      if (close(ours, theirs, tolerance)) continue;
      if (std::fabs(ours - theirs) <= rounding_of(model, x, first + i, p, kRounding)) continue;
      throw RecheckFailed(fmt::format("row {}: the {} gives {:.17g}, and the callback of the same model "
                                      "{:.17g}, at the {} of the fit; "
                                      "one of both is another model",
                                      first + i, model.tape ? "tape" : "formula", ours, theirs, when),
                          first + i);
    }
  }
}

}  // namespace nlsq::inline v0::c
