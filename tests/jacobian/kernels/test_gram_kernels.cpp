// Compares Gram matrices and streaming QR of every kernel set with sums in long double.
#include "kernels/kernel_table.hpp"

#include <doctest/doctest.h>
#include <kernel_harness.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

using nlsq::KernelCounters;
using nlsq::KernelTable;

namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

// Holds n1 columns of `rows` random rows, with NaN from there to the next multiple of 64.
template <class T>
struct Columns {
  std::vector<std::vector<T>> data;
  std::vector<T*> pointers;

  Columns(int n1, std::size_t rows, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    data.assign(static_cast<std::size_t>(n1), std::vector<T>(harness::padded(rows), T(nan_value)));
    for (auto& column : data) {
      for (std::size_t i = 0; i < rows; ++i) column[i] = static_cast<T>(normal(random));
      pointers.push_back(column.data());
    }
  }
};

std::size_t packed_size(int n1) { return static_cast<std::size_t>(n1 * (n1 + 1) / 2); }

// Returns the packed upper triangle of the Gram matrix, and of the sums of magnitudes that bound its error.
template <class T>
void reference(const Columns<T>& c, std::size_t rows, std::vector<long double>& sums,
               std::vector<long double>& sizes) {
  for (std::size_t i = 0; i < c.data.size(); ++i)
    for (std::size_t j = i; j < c.data.size(); ++j) {
      long double sum = 0, size = 0;
      for (std::size_t r = 0; r < rows; ++r) {
        const long double product = static_cast<long double>(c.data[i][r]) * c.data[j][r];
        sum += product;
        size += std::fabs(product);
      }
      sums.push_back(sum);
      sizes.push_back(size);
    }
}

// Returns the largest error in units of eps * (sum of magnitudes).
template <class T, class Kernel>
double worst_error(Kernel kernel, int n1, std::size_t rows, double eps, KernelCounters* counters) {
  const Columns<T> c(n1, rows, static_cast<unsigned>(n1) * 1000 + static_cast<unsigned>(rows));
  std::vector<long double> sums, sizes;
  reference(c, rows, sums, sizes);
  std::vector<double> got(packed_size(n1) + 1, 0.5);  // it adds to what is there, and writes no further
  kernel(c.pointers.data(), n1, rows, got.data(), counters);
  double worst = 0;
  for (std::size_t k = 0; k < sums.size(); ++k)
    worst = std::max(worst, static_cast<double>(std::fabs(got[k] - 0.5L - sums[k]) / (eps * (sizes[k] + 1))));
  CHECK(got.back() == 0.5);
  return std::isnan(worst) || std::isnan(got[0]) ? 1e300 : worst;
}

constexpr std::size_t row_counts[] = {1,  2,  3,  5,   7,   8,   9,   15,  16,  17,  31, 33,
                                      63, 64, 65, 100, 127, 129, 255, 256, 500, 511, 512};

// Returns a zero R of order n1.
std::vector<double> zero_matrix(int n1) {
  return std::vector<double>(static_cast<std::size_t>(n1 * n1), 0.0);
}

// Returns the largest |(R'R)_ij - G_ij| relative to the geometric mean of the diagonals.
double gram_mismatch(const std::vector<double>& R, int n1, const std::vector<long double>& G) {
  long double worst = 0;
  std::vector<long double> diagonal;
  std::size_t k = 0;
  for (int i = 0; i < n1; k += static_cast<std::size_t>(n1 - i), ++i) diagonal.push_back(G[k]);
  k = 0;
  for (int i = 0; i < n1; ++i)
    for (int j = i; j < n1; ++j, ++k) {
      long double sum = 0;
      for (int l = 0; l <= i; ++l)
        sum += static_cast<long double>(R[static_cast<std::size_t>(l * n1 + i)]) *
               R[static_cast<std::size_t>(l * n1 + j)];
      const long double scale =
          std::sqrt(diagonal[static_cast<std::size_t>(i)]) * std::sqrt(diagonal[static_cast<std::size_t>(j)]);
      worst = std::max(worst, std::fabs(sum - G[k]) / (scale > 0 ? scale : 1));
    }
  return static_cast<double>(worst);
}

}  // namespace

TEST_CASE("Gram sums are right for every width and every remainder, whatever lies beyond the last row") {
  for (const KernelTable* set : nlsq::available_kernels()) {
    CAPTURE(std::string(set->name));
    double worst_f64 = 0, worst_f32 = 0, worst_wide = 0;
    KernelCounters counters;
    std::uint64_t flops = 0;
    for (int n1 = 1; n1 <= 20; ++n1)
      for (std::size_t rows : row_counts) {
        flops += static_cast<std::uint64_t>(n1 * (n1 + 1)) * rows;
        worst_f64 = std::max(worst_f64, worst_error<double>(set->gram_f64, n1, rows, 0x1p-53, &counters));
        worst_f32 = std::max(worst_f32, worst_error<float>(set->gram_f32, n1, rows, 0x1p-24, &counters));
        worst_wide =
            std::max(worst_wide, worst_error<float>(set->gram_f32_wide, n1, rows, 0x1p-53, &counters));
      }
    // A chain of 512/lanes sums has an error of about the square root of its length, far below the length.
    CHECK(worst_f64 < 1.5 * std::sqrt(512.0 / set->lanes_f64));
    CHECK(worst_f32 < 1.5 * std::sqrt(512.0 / set->lanes_f32));
    CHECK(worst_wide < 1.5 * std::sqrt(512.0 / set->lanes_f64));
    CHECK(worst_f32 > 0.01);  // it does sum in float
    CHECK(counters.gram_flops_f64 == flops);
    CHECK(counters.gram_flops_f32 == flops);
    CHECK(counters.gram_flops_f32_wide == flops);
    CHECK(counters.rows_f64 == 0);
  }
}

TEST_CASE("Gram sums of hundreds of columns are right, whatever the number of columns leaves over") {
  for (const KernelTable* set : nlsq::available_kernels()) {
    CAPTURE(std::string(set->name));
    KernelCounters counters;
    for (const int n1 : {40, 106, 127, 128, 129, 132, 161, 170, 320, 321, 324, 325, 345}) {
      CAPTURE(n1);
      for (const std::size_t rows : {std::size_t{1}, std::size_t{63}, std::size_t{261}}) {
        CAPTURE(rows);
        CHECK(worst_error<double>(set->gram_f64, n1, rows, 0x1p-53, &counters) < 1.5 * std::sqrt(512.0));
        CHECK(worst_error<float>(set->gram_f32, n1, rows, 0x1p-24, &counters) < 1.5 * std::sqrt(512.0));
        CHECK(worst_error<float>(set->gram_f32_wide, n1, rows, 0x1p-53, &counters) < 1.5 * std::sqrt(512.0));
      }
    }
    CHECK(counters.gram_flops_f64 == counters.gram_flops_f32);
  }
}

TEST_CASE(
    "products with the last column are right for every width and every remainder, and touch nothing else") {
  for (const KernelTable* set : nlsq::available_kernels()) {
    CAPTURE(std::string(set->name));
    KernelCounters counters;
    std::uint64_t flops = 0;
    const auto check = [&](const auto& c, auto kernel, int n1, std::size_t rows) {
      std::vector<double> sums(static_cast<std::size_t>(n1) + 1, 0.5);
      kernel(c.pointers.data(), n1, rows, sums.data(), &counters);
      CHECK(sums.back() == 0.5);
      double worst = 0;
      for (std::size_t j = 0; j < c.data.size(); ++j) {
        long double sum = 0.5L, size = 1;
        for (std::size_t r = 0; r < rows; ++r) {
          const long double product = static_cast<long double>(c.data[j][r]) * c.data.back()[r];
          sum += product;
          size += std::fabs(product);
        }
        const double error = static_cast<double>(std::fabs(sums[j] - sum) / (size * 0x1p-53L));
        worst = std::isnan(error) ? 1e300 : std::max(worst, error);
      }
      CHECK(worst < 40);
    };
    for (const int n1 : {1, 2, 3, 4, 5, 8, 9, 50}) {
      CAPTURE(n1);
      for (const std::size_t rows : row_counts) {
        CAPTURE(rows);
        check(Columns<double>(n1, rows, 11), set->gradient_f64, n1, rows);
        check(Columns<float>(n1, rows, 12), set->gradient_f32_wide, n1, rows);
        flops += 2 * static_cast<std::uint64_t>(n1) * rows;
      }
    }
    CHECK(counters.gram_flops_f64 == flops);
    CHECK(counters.gram_flops_f32_wide == flops);
  }
}

TEST_CASE("products of two sets of columns are taken from a matrix, and from its part alone") {
  for (const KernelTable* set : nlsq::available_kernels()) {
    CAPTURE(std::string(set->name));
    for (const int na : {1, 7, 24, 33, 100}) {
      for (const int nb : {1, 8, 25, 96}) {
        for (const std::size_t rows : {std::size_t{1}, std::size_t{24}, std::size_t{96}, std::size_t{300}}) {
          CAPTURE(na);
          CAPTURE(nb);
          CAPTURE(rows);
          const Columns<double> a(na, rows, 1), b(nb, rows, 2);
          const std::size_t stride = static_cast<std::size_t>(nb) + 3;
          std::vector<double> C(static_cast<std::size_t>(na) * stride, 0.5);
          set->subtract_products_f64(a.pointers.data(), a.data.size(), b.pointers.data(), b.data.size(), rows,
                                     C.data(), stride);
          double worst = 0;
          for (std::size_t i = 0; i < a.data.size(); ++i) {
            for (std::size_t j = 0; j < stride; ++j) {
              long double expected = 0.5L, size = 1;
              for (std::size_t r = 0; j < b.data.size() && r < rows; ++r) {
                const long double product = static_cast<long double>(a.data[i][r]) * b.data[j][r];
                expected -= product;
                size += std::fabs(product);
              }
              const double error =
                  static_cast<double>(std::fabs(C[i * stride + j] - expected) / (size * 0x1p-53L));
              worst = std::isnan(error) ? 1e300 : std::max(worst, error);
            }
          }
          CHECK(worst < 40);
        }
      }
    }
  }
}

TEST_CASE("Gram sums in float are flushed to double: many tiles lose no more than one") {
  for (const KernelTable* set : nlsq::available_kernels()) {
    CAPTURE(std::string(set->name));
    const Columns<float> c(2, 512, 5);
    std::vector<double> once(3, 0.0), many(3, 0.0);
    KernelCounters counters;
    set->gram_f32(c.pointers.data(), 2, 512, once.data(), &counters);
    for (int i = 0; i < 4096; ++i) set->gram_f32(c.pointers.data(), 2, 512, many.data(), &counters);
    for (std::size_t k = 0; k < 3; ++k) CHECK(many[k] == doctest::Approx(4096 * once[k]).epsilon(1e-13));
  }
}

TEST_CASE("The same columns give the same bits every time") {
  for (const KernelTable* set : nlsq::available_kernels()) {
    const Columns<double> c(9, 301, 8);
    std::vector<double> first(45, 0.0), second(45, 0.0);
    KernelCounters counters;
    set->gram_f64(c.pointers.data(), 9, 301, first.data(), &counters);
    set->gram_f64(c.pointers.data(), 9, 301, second.data(), &counters);
    CHECK(first == second);
  }
}

TEST_CASE("Folding tiles into R keeps R'R equal to the sum of their Gram matrices") {
  for (const KernelTable* set : nlsq::available_kernels()) {
    CAPTURE(std::string(set->name));
    for (int n1 : {1, 2, 3, 4, 5, 6, 9, 13, 20})
      for (std::size_t rows :
           {std::size_t(1), std::size_t(3), std::size_t(8), std::size_t(65), std::size_t(512)}) {
        CAPTURE(n1);
        CAPTURE(rows);
        auto R = zero_matrix(n1);
        std::vector<long double> total(packed_size(n1), 0.0L);
        KernelCounters counters;
        for (unsigned tile = 0; tile < 3; ++tile) {
          Columns<double> c(n1, rows, 77 + tile);
          std::vector<long double> sums, sizes;
          reference(c, rows, sums, sizes);
          for (std::size_t k = 0; k < sums.size(); ++k) total[k] += sums[k];
          set->qr_fold(R.data(), static_cast<std::size_t>(n1), n1, c.pointers.data(), rows, &counters);
        }
        CHECK(gram_mismatch(R, n1, total) < 2e-14);
        for (int i = 0; i < n1; ++i)
          for (int j = 0; j < i; ++j) REQUIRE(R[static_cast<std::size_t>(i * n1 + j)] == 0);
        CHECK(counters.qr_flops_f64 == 3 * 2 * static_cast<std::uint64_t>(n1 * n1) * rows);
      }
  }
}

TEST_CASE("QR keeps a small singular value that the Gram matrix loses") {
  // Columns 1 and 1 + d x differ by 1e-10. The Gram matrix knows d² to 1e-16, but R knows d.
  for (const KernelTable* set : nlsq::available_kernels()) {
    CAPTURE(std::string(set->name));
    Columns<double> c(2, 512, 1);
    long double mean = 0, spread = 0;
    std::vector<double> difference;
    for (std::size_t i = 0; i < 512; ++i) {
      c.data[0][i] = 1;
      c.data[1][i] = 1 + 1e-10 * std::cos(static_cast<double>(i));
      difference.push_back(c.data[1][i] - 1);  // this is exact
    }
    for (double d : difference) mean += d / 512.0L;
    for (double d : difference) spread += (d - mean) * (d - mean);
    auto R = zero_matrix(2);
    KernelCounters counters;
    set->qr_fold(R.data(), 2, 2, c.pointers.data(), 512, &counters);
    CHECK(std::fabs(R[3]) == doctest::Approx(static_cast<double>(std::sqrt(spread))).epsilon(1e-5));
  }
}

TEST_CASE("QR passes zero columns, huge and tiny ones") {
  for (const KernelTable* set : nlsq::available_kernels()) {
    CAPTURE(std::string(set->name));
    KernelCounters counters;
    Columns<double> c(3, 20, 2);
    for (double& v : c.data[1]) v = 0;
    auto R = zero_matrix(3);
    set->qr_fold(R.data(), 3, 3, c.pointers.data(), 20, &counters);
    CHECK(R[4] == 0);
    for (double v : R) CHECK(std::isfinite(v));
    // If all columns are zero, R stays as it was.
    Columns<double> nothing(3, 20, 2);
    for (auto& column : nothing.data) std::fill(column.begin(), column.end(), 0.0);
    const auto before = R;
    set->qr_fold(R.data(), 3, 3, nothing.pointers.data(), 20, &counters);
    CHECK(R == before);
    for (double scale : {1e200, 1e-200, 1e300, 0x1p-1000, 0x1p-1060}) {
      CAPTURE(scale);
      Columns<double> d(1, 20, 4);
      for (std::size_t i = 0; i < 20; ++i) d.data[0][i] = scale * (i % 2 ? 1 : -1);
      auto r = zero_matrix(1);
      set->qr_fold(r.data(), 1, 1, d.pointers.data(), 20, &counters);
      const double expected = scale * std::sqrt(20.0);
      CHECK(std::fabs(std::fabs(r[0]) - expected) <= 1e-14 * expected + 0x1p-1074);
    }
  }
}

TEST_CASE("a null column is a column of ones, in every place and format") {
  const auto compare = [](auto kernel, auto zero, int n1, int ones, std::size_t rows, double eps) {
    using T = decltype(zero);
    Columns<T> c(n1, rows, static_cast<unsigned>(n1 * 100 + ones) + static_cast<unsigned>(rows));
    std::fill_n(c.data[static_cast<std::size_t>(ones)].begin(), rows, T(1));
    std::vector<long double> sums, sizes;
    reference(c, rows, sums, sizes);
    c.pointers[static_cast<std::size_t>(ones)] = nullptr;
    std::vector<double> got(packed_size(n1) + 1, 0.5);
    KernelCounters counters;
    kernel(c.pointers.data(), n1, rows, got.data(), &counters);
    CHECK(got.back() == 0.5);
    for (std::size_t k = 0; k < sums.size(); ++k) {
      CAPTURE(k);
      CHECK(static_cast<double>(std::fabs(got[k] - 0.5L - sums[k])) <=
            40 * eps * static_cast<double>(sizes[k] + 1));
    }
  };
  for (const KernelTable* set : nlsq::available_kernels()) {
    CAPTURE(set->name);
    for (int n1 = 2; n1 <= nlsq::most_columns_with_ones; ++n1) {
      for (int ones = 0; ones < n1; ++ones) {
        for (const std::size_t rows : {1u, 7u, 16u, 65u, 127u, 500u, 512u}) {
          CAPTURE(n1);
          CAPTURE(ones);
          CAPTURE(rows);
          compare(set->gram_f64, 0.0, n1, ones, rows, 0x1p-53);
          compare(set->gram_f32_wide, 0.0f, n1, ones, rows, 0x1p-53);
          compare(set->gram_f32, 0.0f, n1, ones, rows, 0x1p-24);
        }
      }
    }
  }
}
