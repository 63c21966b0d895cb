// This is a program that uses Eigen itself and fits with nlsq. How Eigen aligns, allocates and frees depends
// on the flags with which this file is compiled. So the library must not call functions made here, and this
// file must not call the library's.
#include <nlsq/nlsq.hpp>

#include <Eigen/Cholesky>
#include <Eigen/QR>

#include <cmath>
#include <cstdio>
#include <vector>

namespace {

constexpr int kRows = 60, kParameters = 40;

// Returns the direct least-squares solution of a polynomial, by Eigen.
Eigen::VectorXd solution(const Eigen::MatrixXd& A, const Eigen::VectorXd& b) {
  const Eigen::MatrixXd H = A.transpose() * A;
  const Eigen::VectorXd by_cholesky = Eigen::LLT<Eigen::MatrixXd>(H).solve(A.transpose() * b);
  const Eigen::VectorXd by_qr = Eigen::HouseholderQR<Eigen::MatrixXd>(A).solve(b);
  return (by_cholesky - by_qr).norm() < 1e-9 * by_qr.norm() ? by_qr : Eigen::VectorXd::Zero(A.cols());
}

bool fit_of_few_parameters() {
  std::vector<double> x, y;
  for (int i = 0; i < kRows; ++i) {
    x.push_back(0.1 * i);
    y.push_back(3 * std::exp(-0.7 * x.back()) + 0.5 + 0.01 * std::cos(9.0 * i));
  }
  const auto model = [](const auto& t, const auto& p) {
    using std::exp;
    return p[0] * exp(-p[1] * t) + p[2];
  };
  for (const char* policy : {"auto", "f64"}) {
    nlsq::FitOptions options;
    options.precision = nlsq::PrecisionPolicy::parse(policy);
    options.bounds = {{0.0, 0.0, 0.0}, {9.0, 9.0, 9.0}};
    const nlsq::FitResult fit = nlsq::curve_fit(model, x, y, {1.0, 1.0, 0.0}, options);
    if (!fit.success() || std::fabs(fit.parameters[1] - 0.7) > 0.01) return false;
  }
  return true;
}

// With so many parameters, the library factors and decomposes by Eigen.
bool fit_of_many_parameters() {
  Eigen::MatrixXd A(kRows, kParameters);
  Eigen::VectorXd b(kRows);
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kParameters; ++j) A(i, j) = std::cos(0.37 * i * (j + 1)) + (i == j ? 3 : 0);
    b[i] = std::sin(0.2 * i);
  }
  const Eigen::VectorXd expected = solution(A, b);
  const auto residuals = [&](const std::vector<double>& p) {
    const Eigen::VectorXd difference = A * Eigen::Map<const Eigen::VectorXd>(p.data(), kParameters) - b;
    return std::vector<double>(difference.data(), difference.data() + kRows);
  };
  const nlsq::LeastSquaresResult fit = nlsq::least_squares(residuals, std::vector<double>(kParameters, 0.1));
  if (!fit.success()) return false;
  return (Eigen::Map<const Eigen::VectorXd>(fit.x.data(), kParameters) - expected).norm() <
         1e-6 * expected.norm();
}

}  // namespace

int main() {
  if (!fit_of_few_parameters()) return std::puts("few parameters: another answer"), 1;
  if (!fit_of_many_parameters()) return std::puts("many parameters: another answer"), 1;
  return 0;
}
