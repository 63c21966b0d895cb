// Rounds parameters to f64 numbers together, so that their rounding errors cancel in the residuals. Each by
// itself, parameters of terms that cancel are rounded by far more than the data determine them.
#include "certificate/twofold_minimum.hpp"

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

namespace {

Twofold nearest_whole(Twofold a) { return twofold_floor(a + Twofold{0.5, 0}); }

// A basis of a lattice, its Gram-Schmidt vectors, and the whole numbers that made it from the given columns.
class Lattice {
 public:
  Lattice(std::vector<Twofold> columns, std::size_t n)
      : n_(n), basis_(std::move(columns)), made_(n * n), star_(n * n), mu_(n * n), squares_(n) {
    for (std::size_t j = 0; j < n; ++j) made_[j * n + j] = {1, 0};
  }

  // Lenstra, Lenstra and Lovász. The number of exchanges is limited; a basis that is reduced less serves,
  // too.
  void reduce() {
    constexpr double kLovasz = 0.75;
    constexpr int kMostExchanges = 2000;
    orthogonalize(0);
    int exchanges = 0;
    for (std::size_t k = 1; k < n_ && exchanges < kMostExchanges;) {
      for (std::size_t j = k; j-- > 0;) shorten(k, j);
      const double mu = mu_[k * n_ + k - 1].high;
      if (squares_[k].high >= (kLovasz - mu * mu) * squares_[k - 1].high) {
        ++k;
        continue;
      }
      for (std::size_t i = 0; i < n_; ++i) {
        std::swap(basis_[k * n_ + i], basis_[(k - 1) * n_ + i]);
        std::swap(made_[k * n_ + i], made_[(k - 1) * n_ + i]);
      }
      orthogonalize(k - 1);
      k = std::max<std::size_t>(k - 1, 1);
      ++exchanges;
    }
  }

  // Returns whole multiples of the given columns whose sum is close to -z.
  std::vector<Twofold> nearest(std::vector<Twofold> z) const {
    std::vector<Twofold> out(n_);
    for (std::size_t k = n_; k-- > 0;) {
      if (!(squares_[k].high > 0)) continue;
      Twofold along;
      for (std::size_t i = 0; i < n_; ++i) along = along - z[i] * star_[k * n_ + i];
      const Twofold times = nearest_whole(along / squares_[k]);
      for (std::size_t i = 0; i < n_; ++i) {
        z[i] = z[i] + times * basis_[k * n_ + i];
        out[i] = out[i] + times * made_[k * n_ + i];
      }
    }
    return out;
  }

 private:
  Twofold product(const std::vector<Twofold>& a, std::size_t k, const std::vector<Twofold>& b,
                  std::size_t j) const {
    Twofold sum;
    for (std::size_t i = 0; i < n_; ++i) sum = sum + a[k * n_ + i] * b[j * n_ + i];
    return sum;
  }

  void orthogonalize(std::size_t first) {
    for (std::size_t k = first; k < n_; ++k) {
      std::copy_n(&basis_[k * n_], n_, &star_[k * n_]);
      for (std::size_t j = 0; j < k; ++j) {
        if (!(squares_[j].high > 0)) continue;
        const Twofold along = product(star_, k, star_, j) / squares_[j];
        for (std::size_t i = 0; i < n_; ++i)
          star_[k * n_ + i] = star_[k * n_ + i] - along * star_[j * n_ + i];
        mu_[k * n_ + j] = product(basis_, k, star_, j) / squares_[j];
      }
      squares_[k] = product(star_, k, star_, k);
    }
  }

  void shorten(std::size_t k, std::size_t j) {
    const Twofold times = nearest_whole(mu_[k * n_ + j]);
    if (times.high == 0) return;
    for (std::size_t i = 0; i < n_; ++i) {
      basis_[k * n_ + i] = basis_[k * n_ + i] - times * basis_[j * n_ + i];
      made_[k * n_ + i] = made_[k * n_ + i] - times * made_[j * n_ + i];
    }
    for (std::size_t i = 0; i < j; ++i) mu_[k * n_ + i] = mu_[k * n_ + i] - times * mu_[j * n_ + i];
    mu_[k * n_ + j] = mu_[k * n_ + j] - times;
  }

  std::size_t n_;
  std::vector<Twofold> basis_, made_, star_, mu_, squares_;  // vectors one after the other
};

}  // namespace

std::vector<Twofold> nearest_on_grid(std::vector<Twofold> B, std::size_t n, std::vector<Twofold> z) {
  Lattice lattice(std::move(B), n);
  lattice.reduce();
  return lattice.nearest(std::move(z));
}

}  // namespace nlsq::inline v0
