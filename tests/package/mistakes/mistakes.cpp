// Contains callables that cannot be fitted. CASE chooses one; the test compiles each and reads the compiler's
// messages.
#include <nlsq/nlsq.hpp>

#include <complex>

const std::vector<double> x{1, 2, 3, 4}, y{4, 3, 2, 1};

#if CASE == 1  // returns nothing
auto model = [](const auto& t, const auto& p) { (void)(p[0] * t); };
#elif CASE == 2  // returns a complex number
auto model = [](double t, std::span<const double> p) { return std::polar(p[0], p[1] * t); };
#elif CASE == 3  // takes the wrong arguments
auto model = [](double t) { return t; };
#elif CASE == 4  // residuals: returns a single number
auto residuals = [](const auto& p) { return p[0] - 1.0; };
#elif CASE == 5  // residuals: returns nothing
auto residuals = [](const auto& p) { (void)p[0]; };
#elif CASE == 6  // a residual block that returns nothing
auto block = [](const auto* a) { (void)a[0]; };
#endif

int main() {
#if CASE <= 3
  return nlsq::curve_fit(model, x, y, {1, 1}).success();
#elif CASE <= 5
  return nlsq::least_squares(residuals, {1.0, 2.0}).success();
#else
  double a[1] = {1};
  nlsq::Problem problem;
  problem.add_residual_block(block, {}, {a});
#endif
}
