// Implements fit_exponential().
#include "models/guesses/exponential_fit.hpp"

#include "models/guesses/separable.hpp"
#include "models/guesses/wide_vectors.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <vector>

namespace nlsq::inline v0::guessing {
namespace {

// The search is over q with rate = kUnit sinh(q): logarithmic for fast rates of either sign, linear about 0.
// Decay is measured from the first t, growth from the last.
constexpr double kUnit = 0.1;
constexpr double kFirstTried = 0.03;  // rates of the starts are this one times powers of 2, up to 983
constexpr std::size_t kRates = 16;
constexpr double kLeast = 1e-148;  // exponentials are not smaller, so that no square underflows

double rate_of(double q) {
  const double rate = kUnit * std::sinh(q);
  return std::abs(rate) < kSlowestRate ? std::copysign(kSlowestRate, rate) : rate;
}

// Weighted sums of e and e z over the rows. The sum of e^2 is that of e at twice the rate.
struct Sums {
  double value = 0, product = 0;
};
using BothSums = std::array<Sums, 2>;  // of growth and of decay

// Finds the sums, and replaces e by its square. `e` holds four rows of the growing exponential, then the same
// rows of the decaying one, and so on. `z` has the factor v, which is the squared weight.
[[gnu::always_inline]] inline void sum_and_square(std::span<double> e, const double* z, const double* v,
                                                  BothSums& sums) {
  constexpr Four least = {kLeast, kLeast, kLeast, kLeast};
  Four value[2] = {}, product[2] = {};
  for (std::size_t i = 0; 2 * i < e.size(); i += kFour) {
    Four response, weight, now;
    load(z + i, response);
    load(v + i, weight);
    for (std::size_t k = 0; k < 2; ++k) {
      double* const at = &e[2 * i + kFour * k];
      load(at, now);
      const Four squared = now * now, next = squared > least ? squared : least;
      value[k] += weight * now;
      product[k] += response * now;
      std::memcpy(at, &next, sizeof next);
    }
  }
  for (std::size_t k = 0; k < 2; ++k) sums[k] = {total(value[k]), total(product[k])};
}

NLSQ_WIDE_VECTORS void sum_and_square_wide(std::span<double> e, const double* z, const double* v,
                                           BothSums& sums) {
  sum_and_square(e, z, v, sums);
}

// Weighted sums over the rows: of an exponential e, of its derivative d by the rate, and of their products
// with each other and with z.
struct Moments {
  double e = 0, d = 0, ee = 0, ed = 0, dd = 0, ez = 0, dz = 0;
};

// `u` begins where the exponential is 1: -d = (u - origin) e.
[[gnu::always_inline]] inline void sum_moments(std::span<const double> e, const double* u, double origin,
                                               const double* z, const double* v, Moments& sums) {
  Four sum[7] = {};
  for (std::size_t i = 0; i < e.size(); i += kFour) {
    Four value, place, weight, response;
    load(&e[i], value);
    load(u + i, place);
    load(v + i, weight);
    load(z + i, response);
    const Four slope = (origin - place) * value;
    const Four weighted = weight * value, weighted_slope = weight * slope;
    sum[0] += weighted;
    sum[1] += weighted_slope;
    sum[2] += weighted * value;
    sum[3] += weighted * slope;
    sum[4] += weighted_slope * slope;
    sum[5] += response * value;
    sum[6] += response * slope;
  }
  sums = {total(sum[0]), total(sum[1]), total(sum[2]), total(sum[3]),
          total(sum[4]), total(sum[5]), total(sum[6])};
}

NLSQ_WIDE_VECTORS void sum_moments_wide(std::span<const double> e, const double* u, double origin,
                                        const double* z, const double* v, Moments& sums) {
  sum_moments(e, u, origin, z, v, sums);
}

// Best fits of a exp(-rate (u - origin)) + c at given rates. Beyond the last row there may be up to three
// with the weight 0, so that rows are summed four at a time.
class RateFits {
 public:
  RateFits(std::span<const double> u, std::span<const double> y, std::span<const double> weight, bool offset)
      : rows_(u.size()), padded_((rows_ + kFour - 1) / kFour * kFour), offset_(offset),
        memory_(std::make_unique_for_overwrite<double[]>(5 * padded_)), u_(memory_.get()), v_(u_ + padded_),
        z_(v_ + padded_), e_(z_ + padded_) {
    for (double* const column : {u_, v_, z_}) std::fill_n(column + padded_ - kFour, kFour, 0.0);
    std::ranges::copy(u, u_);
    for (std::size_t i = 0; i < rows_; ++i) v_[i] = squared_weight(weight, i);
    for (std::size_t i = 0; i < rows_; ++i) z_[i] = v_[i] * y[i];
    total_ = sum_of(rows_, [&](std::size_t i) { return v_[i]; });
    level_ = offset ? sum_of(rows_, [&](std::size_t i) { return z_[i]; }) / total_ : 0.0;
    for (std::size_t i = 0; i < rows_; ++i) z_[i] = v_[i] * (y[i] - level_);
    squares_ = sum_of(rows_, [&](std::size_t i) { return z_[i] * (y[i] - level_); });
  }

  // Tries the rates kFirstTried * 2^k up to `fastest`, and their negatives. Returns them in ascending order,
  // each with the sum of squares of the best fit at this rate. Each exponential is the square of the one
  // before, so exp is called only for the first.
  std::vector<Tried> tried(double fastest) {
    for (std::size_t i = 0; i < padded_; ++i) e_[i] = -kFirstTried * u_[i];
    exp_in_place({e_, padded_});
    const double whole = std::exp(-kFirstTried);
    for (std::size_t i = padded_; i > 0; i -= kFour) {  // from the end, because e_ is expanded in place
      double* const to = e_ + 2 * (i - kFour);
      double decay[kFour];
      std::copy_n(e_ + i - kFour, kFour, decay);
      for (std::size_t k = 0; k < kFour; ++k) {
        to[k] = whole / decay[k];
        to[kFour + k] = decay[k];
      }
    }
    static const std::array<double, kRates> q = [] {
      std::array<double, kRates> values;
      for (std::size_t k = 0; k < kRates; ++k)
        values[k] = std::asinh(std::ldexp(kFirstTried, static_cast<int>(k)) / kUnit);
      return values;
    }();
    std::array<Tried, 2 * kRates> all;
    std::size_t count = 0;
    BothSums sums = sums_and_square();
    for (double rate = kFirstTried; count < kRates && rate <= fastest; ++count, rate *= 2) {
      const BothSums next = sums_and_square();
      const auto rss = [&](std::size_t way) {
        return left(spread(next[way].value, sums[way].value, sums[way].value), sums[way].product);
      };
      all[kRates - 1 - count] = {-q[count], rss(0)};
      all[kRates + count] = {q[count], rss(1)};
      sums = next;
    }
    std::vector<Tried> finite;
    std::copy_if(all.begin() + (kRates - count), all.begin() + (kRates + count), std::back_inserter(finite),
                 [](const Tried& one) { return std::isfinite(one.rss); });
    return finite;
  }

  // Holds the best a and c at a rate, and the Gauss-Newton step of the rate.
  struct Fit {
    double rate = 0, a = 0, c = 0, rss = 0, step = 0;
  };
  Fit at(double rate) {
    const double origin = rate > 0 ? 0.0 : 1.0;
    for (std::size_t i = 0; i < padded_; ++i) e_[i] = -rate * (u_[i] - origin);
    exp_in_place({e_, padded_});
    Moments m;
    if (has_wide_vectors()) sum_moments_wide({e_, padded_}, u_, origin, z_, v_, m);
    else sum_moments({e_, padded_}, u_, origin, z_, v_, m);
    const double ee = spread(m.ee, m.e, m.e), ed = spread(m.ed, m.e, m.d), dd = spread(m.dd, m.d, m.d);
    Fit fit{rate, m.ez / ee, level_, left(ee, m.ez)};
    if (offset_) fit.c -= fit.a * m.e / total_;
    // The slope of the residuals along d, where a and c follow the rate (Golub and Pereyra 1973).
    const double slope = m.dz - fit.a * ed;
    fit.step = fit.a * slope / (fit.a * fit.a * (dd - ed * ed / ee) + slope * slope / ee);
    return fit;
  }

 private:
  // Returns the sum of products of the deviations from the means, if c is fitted.
  double spread(double products, double one, double other) const {
    return offset_ ? products - one * other / total_ : products;
  }
  // Returns the sum of squares that remains after fitting an exponential.
  double left(double square, double product) const {
    return square > 0 ? std::max(0.0, squares_ - product * product / square) : squares_;
  }

  BothSums sums_and_square() {
    BothSums sums;
    if (has_wide_vectors()) sum_and_square_wide({e_, 2 * padded_}, z_, v_, sums);
    else sum_and_square({e_, 2 * padded_}, z_, v_, sums);
    return sums;
  }

  std::size_t rows_, padded_;
  bool offset_;
  std::unique_ptr<double[]> memory_;
  double *u_, *v_, *z_, *e_;  // v: squared weights; z: v (y - level)
  double total_ = 0, level_ = 0, squares_ = 0;
};

// Takes one step from the only local minimum among the rates that were tried. One step is enough, because the
// fit itself takes cheaper ones.
RateFits::Fit one_step(RateFits& fits, double q, double limit) {
  const RateFits::Fit low = fits.at(rate_of(std::clamp(q, -limit, limit)));
  const double step = low.step / (kUnit * std::cosh(q));
  if (!std::isfinite(step)) return low;
  const RateFits::Fit next = fits.at(rate_of(std::clamp(q + step, -limit, limit)));
  return next.rss < low.rss ? next : low;
}

// Searches the rates for data that several rates fit.
RateFits::Fit search_rates(const Sample& sample, std::span<const double> u, bool offset, double limit,
                           std::span<const Tried> tried) {
  Separable problem(sample, u, offset ? 2 : 1, {-limit}, {limit});
  problem.basis = [offset](std::span<const double> at, std::span<const double> q, double* columns) {
    const double rate = rate_of(q[0]), origin = rate > 0 ? 0.0 : 1.0;
    const std::size_t rows = at.size();
    for (std::size_t i = 0; i < rows; ++i) columns[i] = -rate * (at[i] - origin);
    exp_in_place({columns, rows});
    if (offset) std::fill(columns + rows, columns + 2 * rows, 1.0);
  };
  const Solution best = best_of_line(problem, tried);
  return {rate_of(best.q[0]), best.c[0], offset ? best.c[1] : 0.0};
}

}  // namespace

double fastest_rate(std::span<const double> u) {
  const auto gap = [&](std::size_t i) { return std::min(u[i] > 0 ? u[i] : 1.0, u[i] < 1 ? 1 - u[i] : 1.0); };
  const double least = fold(u.size(), 1.0, gap, [](double a, double b) { return std::min(a, b); });
  return 8 / std::max(least, 1e-6);
}

ExponentialFit fit_exponential(const Sample& sample, std::span<const double> t, bool offset) {
  const std::size_t n = t.size();
  const std::vector<double>& y = sample.y;
  const double first = least_of(t), last = most_of(t), span = last > first ? last - first : 1.0;
  // If y is constant, all rates fit alike. The fastest would be chosen, which leads to overflows.
  if (sample.flat() && (offset || y[0] == 0)) return {0, 1 / span, offset ? y[0] : 0};
  std::vector<double> u(n);
  for (std::size_t i = 0; i < n; ++i) u[i] = (t[i] - first) / span;
  const double fastest = fastest_rate(u), limit = std::asinh(fastest / kUnit);
  RateFits fits(u, y, sample.weight, offset);
  const std::vector<Tried> tried = fits.tried(fastest);
  const std::optional<double> low = only_low(tried);
  const RateFits::Fit best =
      low ? one_step(fits, *low, limit) : search_rates(sample, u, offset, limit, tried);
  ExponentialFit fit;
  fit.rate = best.rate / span;
  fit.a = best.a * std::exp(fit.rate * (best.rate > 0 ? first : last));
  fit.c = offset ? best.c : 0.0;
  return fit;
}

}  // namespace nlsq::inline v0::guessing
