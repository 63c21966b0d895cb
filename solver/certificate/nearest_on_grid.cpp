// Rounds parameters to f64 numbers together, so that their rounding errors cancel in the residuals. Where
// terms cancel, rounding each parameter by itself changes it by far more than its uncertainty.
#include "certificate/ends_of_fits.hpp"

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

namespace {

// Holds a basis of a lattice, its Gram-Schmidt vectors, and the whole numbers by which it follows from the
// given columns.
class Lattice {
 public:
  Lattice(std::vector<double> columns, std::size_t n)
      : n_(n), basis_(std::move(columns)), made_(n * n, 0.0), star_(n * n), mu_(n * n), squares_(n) {
    for (std::size_t j = 0; j < n; ++j) made_[j * n + j] = 1;
  }

  // Reduces the basis by the method of Lenstra, Lenstra and Lovász. The number of exchanges is limited,
  // because a basis that is only partly reduced is useful, too.
  void reduce() {
    constexpr double kLovasz = 0.75;
    constexpr int kMostExchanges = 2000;
    orthogonalize(0);
    int exchanges = 0;
    for (std::size_t k = 1; k < n_ && exchanges < kMostExchanges;) {
      for (std::size_t j = k; j-- > 0;) shorten(k, j);
      const double mu = mu_[k * n_ + k - 1];
      if (squares_[k] >= (kLovasz - mu * mu) * squares_[k - 1]) {
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
  std::vector<double> nearest(std::vector<double> z) const {
    std::vector<double> out(n_, 0.0);
    for (std::size_t k = n_; k-- > 0;) {
      double along = 0;
      for (std::size_t i = 0; i < n_; ++i) along -= z[i] * star_[k * n_ + i];
      const double times = squares_[k] > 0 ? std::nearbyint(along / squares_[k]) : 0;
      for (std::size_t i = 0; i < n_; ++i) {
        z[i] += times * basis_[k * n_ + i];
        out[i] += times * made_[k * n_ + i];
      }
    }
    return out;
  }

 private:
  void orthogonalize(std::size_t first) {
    for (std::size_t k = first; k < n_; ++k) {
      std::copy_n(&basis_[k * n_], n_, &star_[k * n_]);
      for (std::size_t j = 0; j < k; ++j) {
        double along = 0;
        for (std::size_t i = 0; i < n_; ++i) along += star_[k * n_ + i] * star_[j * n_ + i];
        for (std::size_t i = 0; i < n_; ++i)
          star_[k * n_ + i] -= squares_[j] > 0 ? along / squares_[j] * star_[j * n_ + i] : 0;
        double of_basis = 0;
        for (std::size_t i = 0; i < n_; ++i) of_basis += basis_[k * n_ + i] * star_[j * n_ + i];
        mu_[k * n_ + j] = squares_[j] > 0 ? of_basis / squares_[j] : 0;
      }
      squares_[k] = 0;
      for (std::size_t i = 0; i < n_; ++i) squares_[k] += star_[k * n_ + i] * star_[k * n_ + i];
    }
  }

  void shorten(std::size_t k, std::size_t j) {
    const double times = std::nearbyint(mu_[k * n_ + j]);
    if (times == 0) return;
    for (std::size_t i = 0; i < n_; ++i) {
      basis_[k * n_ + i] -= times * basis_[j * n_ + i];
      made_[k * n_ + i] -= times * made_[j * n_ + i];
    }
    for (std::size_t i = 0; i < j; ++i) mu_[k * n_ + i] -= times * mu_[j * n_ + i];
    mu_[k * n_ + j] -= times;
  }

  std::size_t n_;
  std::vector<double> basis_, made_, star_, mu_, squares_;  // vectors one after the other
};

}  // namespace

std::vector<double> nearest_on_grid(std::vector<double> B, std::size_t n, std::vector<double> z) {
  Lattice lattice(std::move(B), n);
  lattice.reduce();
  return lattice.nearest(std::move(z));
}

}  // namespace nlsq::inline v0
