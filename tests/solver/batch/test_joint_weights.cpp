// Tests joint fits with rows whose sigma is nearly 0. Such rows hold exactly, and the parameters that they
// determine are known to less than the spacing of float64 numbers. The other rows then decide about the rest,
// but the rounding errors of these rows may hide their residuals. No such fit may claim a minimum.
#include <nlsq/groups.hpp>
#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <string_view>
#include <vector>

using namespace nlsq;

namespace {

struct Table {
  std::vector<double> x, y, sigma, group;
};

// Returns decays with a shared rate. In the first group, `heavy` rows have `factor` times the sigma of the
// others.
Table decays(int heavy, double factor, double noise, std::mt19937& random) {
  const auto uniform = [&](double from, double to) {
    return from + (to - from) * static_cast<double>(random()) / 0x1p32;
  };
  Table out;
  const double rate = uniform(0.3, 1);
  for (int k = 0; k < 3; ++k) {
    const double a = uniform(1, 3), c = uniform(-1, 1);
    for (int i = 0; i < 8; ++i) {
      out.x.push_back(0.2 + 0.6 * i + uniform(0, 0.3));
      out.y.push_back(a * std::exp(-rate * out.x.back()) + c + noise * uniform(-1, 1));
      out.sigma.push_back(1e-3 * (k == 0 && i < heavy ? factor : 1));
      out.group.push_back(k);
    }
  }
  return out;
}

GroupsResult fit_of(const Table& table, bool absolute) {
  GroupOptions options;
  options.sigma = table.sigma;
  options.absolute_sigma = absolute;
  options.share = {"b"};
  const PreparedModel decay{std::string_view("a*exp(-b*x)+c")};
  return curve_fit_groups(decay, Columns(table.x), table.y, table.group, {{"b", 0.6}}, options);
}

}  // namespace

TEST_CASE("a joint fit claims no parameters that heavy rows determine to less than float64's spacing") {
  std::mt19937 random(5);
  for (int k = 0; k < 40; ++k) {
    const Table table = decays(3, std::pow(10.0, -16 - k % 4), 1e-3, random);
    const GroupsResult fit = fit_of(table, k % 2 == 0);
    CAPTURE(k);
    REQUIRE(fit.joint.has_value());
    CHECK_FALSE(is_success(fit.joint->summary.verdict));
    CHECK(fit.succeeded == 0);
  }
}

TEST_CASE("rows of little sigma are no obstacle to a joint fit where float64 has the digits") {
  std::mt19937 random(6);
  for (int k = 0; k < 20; ++k) {
    const GroupsResult fit = fit_of(decays(2, 1e-4, 1e-3, random), k % 2 == 0);
    REQUIRE(fit.joint.has_value());
    CAPTURE(k);
    CAPTURE(fit.joint->summary.message);
    CHECK(is_success(fit.joint->summary.verdict));
  }
}
