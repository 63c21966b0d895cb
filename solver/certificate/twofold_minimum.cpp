// Implements minimum_by_twofold().
#include "certificate/twofold_minimum.hpp"

#include "certificate/certificate.hpp"
#include "certificate/hidden_minimum.hpp"
#include "support/constants.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kMostNumbers = std::size_t(1) << 20;   // of J, which is stored here
constexpr std::size_t kMostProducts = std::size_t(1) << 24;  // of its factorisation
constexpr std::size_t kMostTogether = 16;                    // parameters that are rounded together
constexpr double kRoundoff = 0x1p-98;                        // of twofold numbers

using Numbers = std::vector<Twofold>;

double norm_of(std::span<const double> v) {
  return std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
}
double norm_of(std::span<const Twofold> v) {
  double squares = 0;
  for (const Twofold& number : v) squares += number.high * number.high;
  return std::sqrt(squares);
}
Twofold product_of(std::span<const Twofold> a, std::span<const Twofold> b) {
  Twofold sum;
  for (std::size_t i = 0; i < a.size(); ++i) sum = sum + a[i] * b[i];
  return sum;
}
void subtract(std::span<Twofold> from, Twofold times, std::span<const Twofold> of) {
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = from[i] - times * of[i];
}
std::span<Twofold> column(Numbers& A, std::size_t rows, std::size_t j) {
  return std::span(A).subspan(j * rows, rows);
}

// A point, and what the linear model says of it.
struct Judged {
  std::vector<double> x, residuals;
  double rounding = 0;             // of the residuals: a norm
  double jacobian_error = 0;       // the largest of a column, beside its norm
  std::vector<double> norms;       // of the columns of J: powers of two, by which they are divided
  std::vector<std::uint8_t> kept;  // whether a column says something that those before it do not say
  Numbers R, z, step;              // R: n x n by columns. The step leads to the minimum, in scaled parameters
  std::vector<double> unexplained;
  double nu = 0, least = 0, gradient = 0;  // ‖z‖, ‖unexplained‖, and the largest cosine

  bool whole() const { return std::ranges::count(kept, 0) == 0; }
  double cost() const { return 0.5 * (nu * nu + least * least); }
};

class Search {
 public:
  explicit Search(const TwofoldProblem& problem) : p_(problem), m_(problem.count), n_(problem.free.size()) {}

  bool is_small() const {
    return n_ > 0 && m_ > n_ && m_ <= kMostNumbers / n_ && m_ * n_ <= kMostProducts / n_;
  }

  std::optional<Judged> at(std::span<const double> x) const {
    Judged out;
    out.x.assign(x.begin(), x.end());
    Numbers Q;
    if (!differentiate(out, Q)) return std::nullopt;
    std::vector<double> errors(m_);
    out.residuals.resize(m_);
    p_.rows.residuals(x, 0, m_, out.residuals.data(), errors.data());
    out.rounding = norm_of(errors);
    factor(out, Q);
    solve(out);
    if (!std::isfinite(out.nu + out.least + out.rounding)) return std::nullopt;
    return out;
  }

  // Takes steps as long as they help.
  std::optional<Judged> best_from(std::span<const double> x) const {
    constexpr double kHelps = 0.7;       // of ν₀ is left
    constexpr double kRounding = 1e-10;  // of the cost
    constexpr int kSteps = 6;
    std::optional<Judged> best = at(x);
    for (int k = 0; k < kSteps && best && best->whole() && p_.may_move; ++k) {
      const std::vector<double> next = moved(*best);
      if (next == best->x || !p_.allowed(next)) break;
      std::optional<Judged> there = at(next);
      if (!there || !(there->nu < best->nu) || !(there->cost() <= (1 + kRounding) * best->cost())) break;
      const bool helps = there->nu < kHelps * best->nu;
      best = std::move(there);
      if (!helps) break;
    }
    return best;
  }

  TwofoldMinimum described(Judged best) const {
    constexpr double kDigits = 16, kRounded = 1, kAgrees = 0x1p32;  // kAgrees: to 6 decimals of y
    constexpr double kLosesRank = 1e26;
    TwofoldMinimum out;
    const auto rank = static_cast<std::size_t>(std::ranges::count(best.kept, 1));
    const double freedom = std::sqrt(static_cast<double>(m_ - rank)), size = scaled_size(best);
    out.whole = best.whole();
    out.condition = out.whole ? invert(best, out.covariance) : std::numeric_limits<double>::infinity();
    // The distance may be off by the rounding of the residuals, and because the columns of J span a slightly
    // different space.
    const double tilt = 10 * std::max(best.jacobian_error, kRoundoff) * std::sqrt(out.condition);
    out.distance = std::hypot(best.nu, best.rounding + (out.whole ? tilt * best.least : 0));
    out.sigma = p_.unit_sigma ? 1 : best.least / freedom;
    out.scatter = p_.unit_sigma ? 1 : std::sqrt(2 * best.cost()) / freedom;
    out.cost = best.cost();
    out.gradient = best.gradient;
    out.gradient_bound = 32 * kUnitRoundoff + best.rounding / norm_of(best.residuals);
    out.step = norm_of(best.step) / size;
    // Where J loses rank in f64, its columns differ by little, and this must not be what rounding took from
    // them when they were computed.
    const InDigits digits = in_digits(best);
    const bool known = out.condition < kLosesRank || digits.others <= kAgrees;
    const bool nearest = known && best.nu <= 2 * kUnitRoundoff * size && digits.left <= kAgrees;
    out.near = out.whole && known && out.distance <= kNearInNoise * out.sigma;
    out.exact = nearest && digits.unexplained <= kDigits;
    out.rounded = nearest && digits.unexplained <= kRounded;
    out.x = std::move(best.x);
    return out;
  }

 private:
  // J by columns, divided by powers of two that are near their norms. False where one is 0 or not finite.
  bool differentiate(Judged& at, Numbers& J) const {
    J.resize(m_ * n_);
    std::vector<TwofoldValue> row(at.x.size());
    std::vector<double> squares(n_, 0.0), of_errors(n_, 0.0);
    for (std::size_t i = 0; i < m_; ++i) {
      p_.rows.derivatives(at.x, i, row);
      for (std::size_t j = 0; j < n_; ++j) {
        const auto& [number, error] = row[p_.free[j]];
        J[j * m_ + i] = number;
        squares[j] += number.high * number.high, of_errors[j] += error * error;
      }
    }
    for (std::size_t j = 0; j < n_; ++j) {
      if (!(squares[j] > 0) || !std::isfinite(squares[j])) return false;
      at.norms.push_back(std::ldexp(1.0, std::ilogb(std::sqrt(squares[j]))));
      at.jacobian_error = std::max(at.jacobian_error, std::sqrt(of_errors[j] / squares[j]));
      for (Twofold& number : column(J, m_, j)) number = {number.high / at.norms[j], number.low / at.norms[j]};
    }
    return std::isfinite(at.jacobian_error);
  }

  // QR by Gram and Schmidt, with the residuals as the last column. The columns of J become those of Q.
  void factor(Judged& at, Numbers& Q) const {
    const double lost = std::sqrt(static_cast<double>(n_)) * 64 * std::max(at.jacobian_error, kRoundoff);
    Numbers left(m_);
    for (std::size_t i = 0; i < m_; ++i) left[i] = {at.residuals[i], 0};
    at.R.assign(n_ * n_, {}), at.z.assign(n_, {}), at.kept.assign(n_, 1);
    const double size = norm_of(at.residuals);
    for (std::size_t j = 0; j < n_; ++j) {
      const auto of = column(Q, m_, j);
      at.gradient = std::max(at.gradient, std::fabs(product_of(of, left).high) / (norm_of(of) * size));
    }
    for (std::size_t j = 0; j < n_; ++j) {
      const auto q = column(Q, m_, j);
      const Twofold length = twofold_root(product_of(q, q));
      at.kept[j] = length.high > lost;
      if (at.kept[j] == 0) continue;
      at.R[j * n_ + j] = length;
      for (Twofold& number : q) number = number / length;
      for (std::size_t k = j + 1; k < n_; ++k) {
        at.R[k * n_ + j] = product_of(q, column(Q, m_, k));
        subtract(column(Q, m_, k), at.R[k * n_ + j], q);
      }
      at.z[j] = product_of(q, left);
      subtract(left, at.z[j], q);
    }
    for (const Twofold& number : left) at.unexplained.push_back(number.rounded());
    at.nu = norm_of(at.z), at.least = norm_of(at.unexplained);
  }

  // The step s with R s = -z, without the columns that say nothing.
  void solve(Judged& at) const {
    at.step.assign(n_, {});
    for (std::size_t j = n_; j-- > 0;) {
      if (at.kept[j] == 0) continue;
      Twofold sum = -at.z[j];
      for (std::size_t k = j + 1; k < n_; ++k) sum = sum - at.R[k * n_ + j] * at.step[k];
      at.step[j] = sum / at.R[j * n_ + j];
    }
  }

  // x moved by the step, to f64 numbers that lie close to its end.
  std::vector<double> moved(const Judged& at) const {
    std::vector<double> out = at.x, digit(n_);
    Numbers B = at.R, z = at.z;
    for (std::size_t j = 0; j < n_; ++j) {
      double& number = out[p_.free[j]];
      const double step = at.step[j].high / at.norms[j], size = std::fabs(number) + std::fabs(step);
      digit[j] = std::nextafter(size, std::numeric_limits<double>::infinity()) - size;
      const double on_grid =
          n_ > kMostTogether ? number + step : std::nearbyint(number / digit[j]) * digit[j];
      const Twofold shift{(on_grid - number) * at.norms[j], 0}, unit{digit[j] * at.norms[j], 0};
      number = on_grid;
      for (std::size_t i = 0; i <= j; ++i) {
        z[i] = z[i] + B[j * n_ + i] * shift;
        B[j * n_ + i] = B[j * n_ + i] * unit;
      }
    }
    if (n_ > kMostTogether) return out;
    const Numbers times = nearest_on_grid(std::move(B), n_, std::move(z));
    for (std::size_t j = 0; j < n_; ++j) {
      double& number = out[p_.free[j]];
      number = (Twofold{number, 0} + times[j] * Twofold{digit[j], 0}).rounded();
    }
    return out;
  }

  // Sets (JᵀJ)⁻¹ = R⁻¹R⁻ᵀ, without the scale of the columns. Returns a bound of the condition of RᵀR.
  double invert(const Judged& at, Matrix& covariance) const {
    Numbers inverse(n_ * n_);
    for (std::size_t k = 0; k < n_; ++k) {
      for (std::size_t j = k + 1; j-- > 0;) {
        Twofold sum{j == k ? 1.0 : 0.0, 0};
        for (std::size_t i = j + 1; i <= k; ++i) sum = sum - at.R[i * n_ + j] * inverse[k * n_ + i];
        inverse[k * n_ + j] = sum / at.R[j * n_ + j];
      }
    }
    covariance.assign(n_, n_, 0.0);
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        Twofold sum;
        for (std::size_t k = i; k < n_; ++k) sum = sum + inverse[k * n_ + i] * inverse[k * n_ + j];
        covariance(i, j) = covariance(j, i) = sum.rounded() / at.norms[i] / at.norms[j];
      }
    }
    return std::pow(norm_of(at.R) * norm_of(inverse), 2);
  }

  double scaled_size(const Judged& at) const {
    double squares = 0;
    for (std::size_t j = 0; j < n_; ++j) squares += std::pow(at.norms[j] * at.x[p_.free[j]], 2);
    return std::sqrt(squares);
  }

  // Norms of numbers of all rows, beside those of the last digits of y in most rows. They are compared as
  // residuals and, without their weights, as y, and the larger one counts: rows of large weight do not stand
  // for the others.
  struct InDigits {
    double unexplained = 0;  // the residuals at the minimum
    double left = 0;         // what the step to the minimum changes
    double others = 0;       // what the last digits of all other data change
  };
  InDigits in_digits(const Judged& at) const {
    InDigits weighted, plain;
    NormOfMost of_y, y;
    for (std::size_t i = 0; i < m_; ++i) {
      const TwofoldRows::LastDigits digits = p_.rows.last_digits(at.x, i);
      const auto add = [&](InDigits& sums, double weight) {
        sums.unexplained = std::hypot(sums.unexplained, weight * at.unexplained[i]);
        sums.left = std::hypot(sums.left, weight * (at.residuals[i] - at.unexplained[i]));
        sums.others = std::hypot(sums.others, weight * digits.of_others);
      };
      add(weighted, 1);
      of_y.add(digits.of_y);
      if (digits.of_y > 0) add(plain, digits.y / digits.of_y);
      y.add(digits.y);
    }
    const double a = of_y.without_a_tenth(), b = y.without_a_tenth();
    const auto larger = [&](double p, double q) { return std::max(p / a, q == 0 ? 0 : q / b); };
    return {larger(weighted.unexplained, plain.unexplained), larger(weighted.left, plain.left),
            larger(weighted.others, plain.others)};
  }

  const TwofoldProblem& p_;
  std::size_t m_, n_;
};

}  // namespace

std::optional<TwofoldMinimum> minimum_by_twofold(const TwofoldProblem& problem, std::span<const double> x) {
  const Search search(problem);
  if (!search.is_small()) return std::nullopt;
  std::optional<Judged> best = search.best_from(x);
  if (!best) return std::nullopt;
  return search.described(std::move(*best));
}

}  // namespace nlsq::inline v0
