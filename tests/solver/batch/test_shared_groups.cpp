// Tests curve_fit_groups with shared parameters. The joint fit must be that of one formula over all rows.
#include <nlsq/groups.hpp>
#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace nlsq;

namespace {

struct Rows {
  std::vector<double> x, y, sigma, group;
};

// Returns decays with one rate. Group g has 12 + 5 g rows and its own height and plateau.
Rows decays(int groups, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(0, 0.05);
  Rows out;
  for (int g = 0; g < groups; ++g) {
    const int rows = 12 + 5 * (g % 4);
    for (int i = 0; i < rows; ++i) {
      const double x = 6.0 * i / rows, sigma = 0.5 + 0.2 * (i % 3);
      out.group.push_back(g);
      out.x.push_back(x);
      out.y.push_back((3 + g % 7) * std::exp(-0.7 * x) + 0.5 * (g % 5) + sigma * noise(random));
      out.sigma.push_back(sigma);
    }
  }
  return out;
}

bool near(double a, double b, double tolerance) {
  return std::fabs(a - b) <= tolerance * std::fmax(std::fabs(a), std::fabs(b));
}
bool same_bits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

GroupOptions sharing(std::vector<std::string> names) {
  GroupOptions options;
  options.share = std::move(names);
  return options;
}

}  // namespace

TEST_CASE("The joint fit is that of one formula with a parameter for each group") {
  const Rows rows = decays(3);
  GroupOptions options = sharing({"b"});
  FitOptions plain;
  SUBCASE("without sigma") {}
  SUBCASE("with sigma") { options.sigma = plain.sigma = rows.sigma; }
  SUBCASE("with absolute sigma") {
    options.sigma = plain.sigma = rows.sigma;
    options.absolute_sigma = plain.absolute_sigma = true;
  }
  const GroupsResult fits = curve_fit_groups(model("exp"), rows.x, rows.y, rows.group, {}, options);
  const FitResult one =
      curve_fit("if(x2==0, a0, if(x2==1, a1, a2))*exp(-b*x1) + if(x2==0, c0, if(x2==1, c1, c2))",
                Columns({Column(rows.x), Column(rows.group)}), rows.y,
                {{"a0", 3}, {"a1", 4}, {"a2", 5}, {"b", 0.5}, {"c0", 0}, {"c1", 0}, {"c2", 1}}, plain);
  REQUIRE(one.success());
  REQUIRE(fits.joint);
  const auto of = [&](const std::string& name) {
    return static_cast<std::size_t>(std::ranges::find(one.parameter_names, name) -
                                    one.parameter_names.begin());
  };
  CHECK(fits.success());
  CHECK(fits.joint->summary.verdict == Verdict::converged);
  CHECK(fits.joint->dof == one.dof);
  CHECK(fits.joint->rows == one.rows);
  CHECK(near(fits.joint->rss, one.rss, 1e-10));
  CHECK(near(fits.joint->chi2_reduced, one.chi2_reduced, 1e-10));
  CHECK(near(fits.joint->parameters[0], one.parameters[of("b")], 1e-8));
  CHECK(near(fits.joint->covariance(0, 0), one.covariance(of("b"), of("b")), 1e-7));
  for (std::size_t k = 0; k < 3; ++k) {
    const std::size_t a = of("a" + std::to_string(k)), c = of("c" + std::to_string(k));
    CHECK(near(fits.parameters(k, 0), one.parameters[a], 1e-8));
    CHECK(near(fits.parameters(k, 2), one.parameters[c], 1e-7));
    CHECK(near(fits.standard_errors(k, 0), one.standard_errors[a], 1e-7));
    CHECK(near(fits.standard_errors(k, 1), one.standard_errors[of("b")], 1e-7));
    CHECK(near(fits.standard_errors(k, 2), one.standard_errors[c], 1e-7));
    CHECK(same_bits(fits.parameters(k, 1), fits.parameters(0, 1)));
    CHECK(fits.dof[k] == one.dof);
    CHECK(fits.message[k].empty());
  }
  CHECK(near(fits.cost[0] + fits.cost[1] + fits.cost[2], one.summary.final_cost, 1e-10));
}

TEST_CASE("Two shared parameters have the covariance of the one formula") {
  const Rows rows = decays(2, 5);
  const GroupsResult fits =
      curve_fit_groups("a*exp(-b*x)+c", rows.x, rows.y, rows.group, {}, sharing({"c", "b"}));
  const FitResult one =
      curve_fit("if(x2==0, a0, a1)*exp(-b*x1)+c", Columns({Column(rows.x), Column(rows.group)}), rows.y,
                {{"a0", 3}, {"a1", 4}, {"b", 0.5}, {"c", 0}});
  REQUIRE(fits.joint);
  REQUIRE(fits.joint->parameter_names == std::vector<std::string>{"b", "c"});
  const std::size_t b = 2, c = 3;  // these are their places among a0, a1, b, c
  REQUIRE(one.parameter_names[b] == "b");
  CHECK(near(fits.joint->covariance(0, 1), one.covariance(b, c), 1e-6));
  CHECK(near(fits.joint->covariance(1, 1), one.covariance(c, c), 1e-6));
}

TEST_CASE("Many groups, any number of threads, in any order: the same bits or the same answer") {
  const Rows rows = decays(60, 3);
  GroupOptions options = sharing({"b"});
  options.threads = 1;
  const GroupsResult one = curve_fit_groups(model("exp"), rows.x, rows.y, rows.group, {}, options);
  options.threads = 3;
  const GroupsResult three = curve_fit_groups(model("exp"), rows.x, rows.y, rows.group, {}, options);
  CHECK(one.success());
  for (std::size_t k = 0; k < one.size(); ++k) {
    for (std::size_t j = 0; j < 3; ++j) {
      CHECK(same_bits(one.parameters(k, j), three.parameters(k, j)));
      CHECK(same_bits(one.standard_errors(k, j), three.standard_errors(k, j)));
    }
  }
  Rows back;  // these are the rows from the last to the first
  for (std::size_t i = rows.x.size(); i-- > 0;) {
    back.x.push_back(rows.x[i]), back.y.push_back(rows.y[i]), back.group.push_back(rows.group[i]);
  }
  const GroupsResult other = curve_fit_groups(model("exp"), back.x, back.y, back.group, {}, sharing({"b"}));
  CHECK(near(one.joint->parameters[0], other.joint->parameters[0], 1e-8));
  CHECK(near(one.joint->rss, other.joint->rss, 1e-10));
  CHECK(near(one.standard_errors(0, 0), other.standard_errors(59, 0), 1e-7));
}

TEST_CASE("A group with too few rows for a fit of its own takes part if they determine its own parameters") {
  Rows rows = decays(3);
  for (const double x : {0.0, 3.0}) {  // two rows are enough for a and c
    rows.x.push_back(x), rows.group.push_back(7);
    rows.y.push_back(4 * std::exp(-0.7 * x) + 1);
  }
  rows.x.push_back(1), rows.y.push_back(1), rows.group.push_back(8);  // one row is not enough
  const GroupsResult fits = curve_fit_groups(model("exp"), rows.x, rows.y, rows.group, {}, sharing({"b"}));
  REQUIRE(fits.size() == 5);
  CHECK(is_success(fits.verdict[3]));
  CHECK(near(fits.parameters(3, 0), 4, 0.1));
  CHECK(fits.cost[3] < 1e-12);
  CHECK(fits.verdict[4] == Verdict::failed);
  CHECK(fits.message[4].find("1 row cannot determine 2 parameters") == 0);
  CHECK(std::isnan(fits.parameters(4, 0)));
  CHECK(fits.dof[4] == 0);
  CHECK(fits.joint->groups == 4);
  CHECK(fits.joint->dof == static_cast<std::ptrdiff_t>(rows.x.size() - 1) - 9);
}

TEST_CASE("A left side, a fixed parameter and a bound have the effects that they have in a plain fit") {
  const Rows rows = decays(2, 9);
  GroupOptions options = sharing({"b"});
  SUBCASE("fixed") {
    options.fixed = {"c"};
    const GroupsResult fits =
        curve_fit_groups(model("exp"), rows.x, rows.y, rows.group, {{"c", 0.2}}, options);
    const FitResult one =
        curve_fit("if(x2==0, a0, a1)*exp(-b*x1)+0.2", Columns({Column(rows.x), Column(rows.group)}), rows.y,
                  {{"a0", 3}, {"a1", 4}, {"b", 0.5}});
    CHECK(near(fits.joint->rss, one.rss, 1e-10));
    CHECK(near(fits.joint->standard_errors[0], one.standard_errors[2], 1e-7));
    CHECK(fits.parameters(1, 2) == 0.2);
    CHECK(fits.standard_errors(1, 2) == 0);
  }
  SUBCASE("bound") {
    options.bounds = {{-1e9, 0, -1e9}, {1e9, 0.6, 1e9}};
    const GroupsResult fits = curve_fit_groups(model("exp"), rows.x, rows.y, rows.group, {}, options);
    CHECK(fits.joint->parameters[0] == 0.6);
    CHECK(std::isnan(fits.joint->standard_errors[0]));
    CHECK(fits.joint->dof == static_cast<std::ptrdiff_t>(rows.x.size()) - 4);
    CHECK(fits.standard_errors(0, 0) > 0);
  }
  SUBCASE("all shared parameters and all of one group's own on bounds: the others keep their errors") {
    options.share = {"a", "b"};
    options.bounds = {{2, 0.8, -1}, {2.5, 2, 0.3}};
    const GroupsResult fits = curve_fit_groups(model("exp"), rows.x, rows.y, rows.group, {}, options);
    int on_bound = 0;
    for (std::size_t k = 0; k < 2; ++k) {
      const bool own_on_bound = fits.parameters(k, 2) == options.bounds.upper[2];
      on_bound += own_on_bound ? 1 : 0;
      CHECK(std::isnan(fits.standard_errors(k, 2)) == own_on_bound);
    }
    CHECK(on_bound == 1);
  }
  SUBCASE("one number bounds all parameters, and a side may be missing") {
    for (const Bounds& bounds : {Bounds(0.5, 1e9), Bounds(std::vector<double>{}, 2.5)}) {
      options.bounds = bounds;
      const GroupsResult fits = curve_fit_groups(model("exp"), rows.x, rows.y, rows.group, {}, options);
      int on_bound = 0;
      for (std::size_t k = 0; k < 2; ++k) {
        for (std::size_t j = 0; j < 3; ++j) {
          const double value = fits.parameters(k, j);
          CHECK((fits.at_bound[k * 3 + j] != 0) == (value == 0.5 || value == 2.5));
          on_bound += fits.at_bound[k * 3 + j];
        }
      }
      CHECK(on_bound > 0);
    }
  }
}

TEST_CASE("Options that the joint fit does not support are errors that say so") {
  const Rows rows = decays(2);
  const auto fit = [&](GroupOptions options) {
    return curve_fit_groups(model("exp"), rows.x, rows.y, rows.group, {}, options);
  };
  CHECK_THROWS_WITH_AS(fit(sharing({"q"})),
                       "share: the model has no parameter 'q'; its parameters are a, b, c", ValidationError);
  CHECK_THROWS_AS(fit(sharing({"b", "b"})), ValidationError);
  CHECK_THROWS_AS(fit(sharing({"a", "b", "c"})), ValidationError);
  GroupOptions options = sharing({"b"});
  options.loss = Loss::huber(1);
  CHECK_THROWS_AS(fit(options), ValidationError);
  options = sharing({"b"});
  options.ties = {"c=a"};
  CHECK_THROWS_AS(fit(options), ValidationError);
  options = sharing({"b"});
  options.fixed = {"b"};
  CHECK_THROWS_AS(fit(options), ValidationError);
}

TEST_CASE("Standard errors of a joint fit that float64 cannot give are unknown, not wrong") {
  Rows rows;
  std::mt19937 random(5);
  std::normal_distribution<double> noise(0, 0.1);
  double offset = 0;
  SUBCASE("x with a moderate offset: they are known") { offset = 100; }
  SUBCASE("x with an offset of 1.2e8") { offset = 1.2e8; }
  for (int g = 0; g < 3; ++g) {
    for (int i = 0; i < 20; ++i) {
      rows.group.push_back(g);
      rows.x.push_back(offset + i);
      rows.y.push_back(0.5 * i + g + noise(random));
    }
  }
  const NamedValues start = {{"a", 0.5}, {"b", -0.5 * offset}};
  const GroupsResult fits = curve_fit_groups("a*x+b", rows.x, rows.y, rows.group, start, sharing({"a"}));
  REQUIRE(fits.joint.has_value());
  if (offset > 1e6) {
    CHECK(std::isnan(fits.joint->standard_errors[0]));
    CHECK(fits.joint->summary.message.find("subtract it") != std::string::npos);
    return;
  }
  // With one slope over the rows about their means, the error has a closed form.
  double rss = 0;
  for (const double part : fits.rss) rss += part;
  const double expected = std::sqrt(rss / (60 - 4) / (3 * 665.0));
  CHECK(near(fits.joint->standard_errors[0], expected, 1e-9));
}

TEST_CASE("Parameters that the rows of all groups do not determine have no standard errors") {
  const Rows rows = decays(4);
  const NamedValues start = {{"a", 1}, {"d", 1}, {"b", 0.7}, {"c", 0}};
  const GroupsResult fits =
      curve_fit_groups("a*d*exp(-b*x)+c", rows.x, rows.y, rows.group, start, sharing({"a"}));
  REQUIRE(fits.joint.has_value());
  CHECK(std::isnan(fits.joint->standard_errors[0]));
}

TEST_CASE("A group whose derivatives overflow when squared ends the joint fit as FAILED") {
  Rows rows = decays(6);
  for (int i = 0; i < 40; ++i) {  // with 1e-145 exp(73 x), the derivative by a reaches 1e158
    rows.group.push_back(6);
    rows.x.push_back(5.0 * i / 40);
    rows.y.push_back(-1e-145 * std::exp(73 * rows.x.back()) * (1 + 0.01 * (i % 3)));
  }
  const GroupsResult fits =
      curve_fit_groups(model("exp"), rows.x, rows.y, rows.group, NamedValues{}, sharing({"c"}));
  CHECK(fits.succeeded == 0);
  CHECK(fits.joint->summary.verdict == Verdict::failed);
  CHECK(std::isnan(fits.joint->standard_errors[0]));
}

TEST_CASE("With absolute sigma the distance of a joint fit counts in standard errors of that sigma") {
  Rows rows = decays(3);
  for (double& s : rows.sigma) s *= 1e-5;
  GroupOptions options = sharing({"b"});
  options.sigma = rows.sigma;
  const auto fit = [&] { return curve_fit_groups(model("exp"), rows.x, rows.y, rows.group, {}, options); };
  const GroupsResult by_scatter = fit();
  REQUIRE(by_scatter.success());
  options.absolute_sigma = true;
  const GroupsResult best = fit();
  REQUIRE(best.success());
  // Loose tests end within few of the standard errors by scatter, and within thousands of the given sigma's.
  options.tau = 0.05;
  options.xtol = 0.9;
  const GroupsResult loose = fit();
  CHECK(loose.success());
  CHECK(loose.joint->summary.certificate.decrement_sigma <= 0.1);
  CHECK(std::fabs(loose.joint->parameters[0] - best.joint->parameters[0]) <=
        0.2 * best.joint->standard_errors[0]);
}
