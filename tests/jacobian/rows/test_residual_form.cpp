// Tests residuals that losses and counts finish. The graph's formulas are compared with others in double, and
// slopes with differences.
#include <nlsq/error.hpp>
#include "rows/residual_form.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

using namespace nlsq;

namespace {

struct Evaluated {
  double residual, slope;
  std::vector<double> extra;
};
// Column 0 is the base, column 1 the response.
Evaluated by_graph(double base, double response, const ResidualForm& form) {
  Graph graph;
  const FinishedNodes end = finish_residual(graph, graph.column(0), graph.column(1), form);
  const double row[] = {base, response};
  Evaluated out{evaluate(graph, end.residual, row, {}), evaluate(graph, end.slope, row, {}), {}};
  for (const NodeId id : end.extra) out.extra.push_back(evaluate(graph, id, row, {}));
  return out;
}

ResidualForm form_of(const Loss& loss, bool for_covariance = false) {
  ResidualForm form;
  form.loss = loss;
  form.for_covariance = for_covariance;
  return form;
}

const Loss kLosses[] = {Loss::soft_l1(0.7), Loss::huber(0.7), Loss::cauchy(0.7), Loss::arctan(0.7),
                        Loss::tukey(0.7)};
const double kSizes[] = {0,        1e-170, 1e-30, 1e-18, 1e-9, 1e-4, 0.1,  0.6, 0.699999,
                         0.700001, 1,      3,     50,    1e6,  1e14, 1e16, 1e40};

}  // namespace

TEST_CASE("The square of a finished residual is the loss, its slope the derivative") {
  for (const Loss& loss : kLosses) {
    for (const double size : kSizes) {
      for (const double r : {size, -size}) {
        CAPTURE(std::string(loss.name()));
        CAPTURE(r);
        const Evaluated g = by_graph(r, 0, form_of(loss));
        const FinishedNumber d = finish_residual(r, 0, form_of(loss));
        CHECK(g.residual == doctest::Approx(d.residual).epsilon(1e-14).scale(1e-160));
        CHECK(g.slope == doctest::Approx(d.slope).epsilon(1e-13).scale(1e-300));
        if (size > 1e-150) {
          CHECK(d.residual * d.residual == doctest::Approx(loss(r * r).rho).epsilon(1e-14));
          CHECK(g.residual * g.slope ==
                doctest::Approx(loss(r * r).slope * r).epsilon(1e-13));  // this is the exact gradient
        }
        CHECK(std::signbit(g.residual) == std::signbit(r));
        if (size > 1e-9 && size < 1e7) {
          const double h = 1e-6 * size;
          const double difference =
              (by_graph(r + h, 0, form_of(loss)).residual - by_graph(r - h, 0, form_of(loss)).residual) /
              (2 * h);
          CHECK(g.slope == doctest::Approx(difference).epsilon(1e-5).scale(1e-4));
        }
      }
    }
  }
}

TEST_CASE("Rows for the covariance hold 1, the slope of psi, r, whether r is beyond the scale, and psi") {
  for (const Loss& loss : kLosses) {
    for (const double r : {-2.0, -0.8, -0.3, 0.0, 1e-5, 0.2, 0.65, 0.75, 5.0, 1e3}) {
      CAPTURE(std::string(loss.name()));
      CAPTURE(r);
      const ResidualForm form = form_of(loss, true);
      CHECK(form.extra_columns() == 4);
      const Evaluated g = by_graph(r, 0, form);
      const FinishedNumber d = finish_residual(r, 0, form);
      CHECK(g.slope == 1);
      CHECK(g.residual == doctest::Approx(loss(r * r).slope * r).epsilon(1e-13));
      CHECK(d.residual == doctest::Approx(g.residual).epsilon(1e-13));
      REQUIRE(g.extra.size() == 4);
      for (std::size_t k = 0; k < 4; ++k)
        CHECK(g.extra[k] == doctest::Approx(d.extra[k]).epsilon(1e-10).scale(1e-5));
      const double h = 1e-6 * std::max(1.0, std::fabs(r));
      const auto psi = [&](double v) { return loss(v * v).slope * v; };
      CHECK(g.extra[1] == doctest::Approx((psi(r + h) - psi(r - h)) / (2 * h)).epsilon(1e-6).scale(1e-3));
      CHECK(g.extra[2] == r);
      CHECK(g.extra[3] == (std::fabs(r) > 0.7 ? 1 : 0));
    }
  }
}

TEST_CASE("The signed deviance keeps its digits where model and count are near, and at count 0") {
  const ResidualForm form = form_of(Loss::poisson());
  for (const double y : {0.0, 0.3, 1.0, 7.0, 100.0, 1e6, 1e12}) {
    for (const double ratio : {1e-8, 0.01, 0.5, 0.9, 0.99, 0.9901, 0.999, 1 - 1e-7, 1 - 1e-13, 1.0, 1 + 1e-13,
                               1 + 1e-6, 1.0099, 1.0101, 1.1, 3.0, 1e5}) {
      const double f = y > 0 ? y * ratio : ratio;
      CAPTURE(y);
      CAPTURE(f);
      const Evaluated g = by_graph(f, y, form);
      const FinishedNumber d = finish_residual(f, y, form);
      const long double F = f, Y = y,
                        half = Y > 0 ? Y * logl(Y / F) - Y + F : F;  // this loses digits if f is near y
      CHECK(g.residual == doctest::Approx(d.residual).epsilon(1e-12).scale(1e-12));
      CHECK(g.slope == doctest::Approx(d.slope).epsilon(1e-11));
      if (y == 0 || std::fabs(ratio - 1) > 1e-4)
        CHECK(d.residual * d.residual == doctest::Approx(static_cast<double>(2 * half)).epsilon(1e-11));
      if (y > 0 && std::fabs(ratio - 1) < 1e-5)
        CHECK(d.residual == doctest::Approx((f - y) / std::sqrt(y)).epsilon(1e-5));
      // Half the deviance has the derivative 1 - y/f.
      CHECK(g.residual * g.slope == doctest::Approx((f - y) / f).epsilon(1e-11));
    }
  }
  CHECK_FALSE(std::isfinite(by_graph(-1, 3, form).residual));
  CHECK_FALSE(std::isfinite(by_graph(-1, 0, form).residual));
  CHECK_FALSE(std::isfinite(by_graph(0, 3, form).residual));
  CHECK_FALSE(std::isfinite(finish_residual(-1, 3, form).residual));
  const Evaluated fisher = by_graph(4, 10, form_of(Loss::poisson(), true));
  CHECK(fisher.slope == 0.5);
  CHECK(fisher.residual == -3);
}

TEST_CASE("Errors in x widen a residual by the model's slope") {
  Graph graph;
  const NodeId x = graph.column(0), z = graph.column(1), y = graph.column(2), a = graph.parameter(0);
  const NodeId model = graph.mul(a, graph.mul(x, graph.mul(x, z)));
  ResidualForm form(true);
  form.x_errors = {0, 1};
  CHECK(form.data_columns(2) == 6);
  CHECK_FALSE(form.keeps_linear());
  const NodeId residual = base_residual(graph, model, y, 2, form);
  const double row[] = {3, 2, 50, 0.5, 0.1, 0.2}, p[] = {2.5};
  const double dx = 2.5 * 2 * 3 * 2, dz = 2.5 * 9;
  const double variance = 0.25 + dx * dx * 0.01 + dz * dz * 0.04;
  CHECK(evaluate(graph, residual, row, p) == doctest::Approx((45 - 50) / std::sqrt(variance)).epsilon(1e-14));
}
