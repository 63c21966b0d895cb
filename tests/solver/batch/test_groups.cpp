// Tests curve_fit_groups. Each group must have the answer of its rows alone, wherever they are in the table.
#include <nlsq/groups.hpp>
#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace nlsq;

namespace {

struct Rows {
  std::vector<double> x, y, sigma, group;

  void add(double g, double at, double value, double error = 1) {
    group.push_back(g), x.push_back(at), y.push_back(value), sigma.push_back(error);
  }
  // Returns the rows of one group.
  Rows of(double g) const {
    Rows out;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (group[i] == g) out.add(g, x[i], y[i], sigma[i]);
    }
    return out;
  }
  void shuffle(unsigned seed) {
    std::vector<std::size_t> order(x.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), std::mt19937(seed));
    Rows out;
    for (const std::size_t i : order) out.add(group[i], x[i], y[i], sigma[i]);
    *this = std::move(out);
  }
};

// Returns decays with noise of one percent. Group g has rows(g) rows.
template <class Count>
Rows decays(int groups, Count rows, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(0, 0.05);
  Rows out;
  for (int g = 0; g < groups; ++g) {
    const double a = 5 + 0.1 * (g % 17), b = 0.5 + 0.02 * (g % 11), c = 1 + 0.05 * (g % 5);
    for (int i = 0; i < rows(g); ++i) {
      const double x = 8.0 * i / rows(g), s = 0.5 + 0.1 * (i % 7);
      out.add(g, x, a * std::exp(-b * x) + c + s * noise(random), s);
    }
  }
  return out;
}

std::size_t index_of(const GroupsResult& fits, const Rows& rows, double group) {
  for (std::size_t k = 0; k < fits.size(); ++k) {
    if (rows.group[fits.first_row[k]] == group) return k;
  }
  return fits.size();
}

bool same_bits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

bool near(double a, double b, double tolerance) {
  return std::fabs(a - b) <= tolerance * std::fmax(std::fabs(a), std::fabs(b)) ||
         (std::isnan(a) && std::isnan(b));
}

void check_alone(const GroupsResult& fits, std::size_t k, const FitResult& alone) {
  CAPTURE(k);
  CHECK(fits.verdict[k] == alone.summary.verdict);
  CHECK(fits.rows[k] == alone.rows);
  CHECK(fits.dof[k] == alone.dof);
  CHECK(near(fits.cost[k], alone.summary.final_cost, 1e-9));
  CHECK(near(fits.rss[k], alone.rss, 1e-9));
  CHECK(near(fits.r_squared[k], alone.r_squared, 1e-9));
  for (std::size_t j = 0; j < alone.parameters.size(); ++j) {
    CHECK(near(fits.parameters(k, j), alone.parameters[j], 1e-9));
    CHECK(near(fits.standard_errors(k, j), alone.standard_errors[j], 1e-8));
  }
}

void check_same_bits(const GroupsResult& a, std::size_t i, const GroupsResult& b, std::size_t k) {
  CHECK(a.verdict[i] == b.verdict[k]);
  CHECK(same_bits(a.cost[i], b.cost[k]));
  CHECK(same_bits(a.r_squared[i], b.r_squared[k]));
  for (std::size_t j = 0; j < a.parameters.columns(); ++j) {
    CHECK(same_bits(a.parameters(i, j), b.parameters(k, j)));
    CHECK(same_bits(a.standard_errors(i, j), b.standard_errors(k, j)));
  }
}

}  // namespace

TEST_CASE("Groups of one length are fitted in lanes and have the answers of their rows alone") {
  const Rows rows = decays(40, [](int) { return 30; });
  FitOptions options;
  options.sigma = rows.sigma;
  const GroupsResult fits = curve_fit_groups(model("exp"), rows.x, rows.y, rows.group, {}, options);
  REQUIRE(fits.size() == 40);
  CHECK(fits.success());
  CHECK(fits.in_lanes >= 30);
  for (std::size_t k = 0; k < fits.size(); ++k) {
    const Rows own = rows.of(static_cast<double>(k));
    options.sigma = own.sigma;
    check_alone(fits, k, curve_fit(model("exp"), own.x, own.y, {}, options));
    CHECK(fits.message[k].empty());
  }
}

TEST_CASE("Groups of different lengths have the answers of their rows alone") {
  const Rows rows = decays(45, [](int g) { return g < 40 ? 20 + g % 2 : 100 + g; });
  const GroupsResult fits = curve_fit_groups("a*exp(-b*x)+c", rows.x, rows.y, rows.group);
  REQUIRE(fits.size() == 45);
  for (std::size_t k = 0; k < fits.size(); ++k) {
    const Rows own = rows.of(static_cast<double>(k));
    check_alone(fits, k, curve_fit("a*exp(-b*x)+c", own.x, own.y));
  }
}

TEST_CASE("Options that lanes do not know give the answers of the rows alone, too") {
  const Rows rows = decays(34, [](int) { return 25; });
  FitOptions options;
  SUBCASE("bounds") { options.bounds = {{0, 0, 0}, {10, 5, 1}}; }
  SUBCASE("a loss") { options.loss = Loss::huber(0.05); }
  SUBCASE("a tie") { options.ties = {"c = a/5"}; }
  SUBCASE("a fixed parameter") { options.fixed = {"c"}; }
  SUBCASE("several starts") { options.starts = 3; }
  const GroupsResult fits = curve_fit_groups(model("exp"), rows.x, rows.y, rows.group, {}, options);
  for (std::size_t k = 0; k < fits.size(); k += 5) {
    const Rows own = rows.of(static_cast<double>(k));
    check_alone(fits, k, curve_fit(model("exp"), own.x, own.y, {}, options));
  }
}

TEST_CASE("The order of a group's rows among those of others changes nothing but the order of the groups") {
  const Rows rows = decays(36, [](int g) { return g % 9 == 0 ? 21 : 24; });
  Rows mixed;  // a row of each group in turn, the last group first
  for (int i = 0; i < 24; ++i) {
    for (int g = 35; g >= 0; --g) {
      const Rows own = rows.of(g);
      const auto at = static_cast<std::size_t>(i);
      if (at < own.x.size()) mixed.add(g, own.x[at], own.y[at]);
    }
  }
  const GroupsResult a = curve_fit_groups(model("exp"), rows.x, rows.y, rows.group);
  const GroupsResult b = curve_fit_groups(model("exp"), mixed.x, mixed.y, mixed.group);
  REQUIRE(b.size() == 36);
  CHECK(mixed.group[b.first_row[0]] == 35);
  for (int g = 0; g < 36; ++g) check_same_bits(a, index_of(a, rows, g), b, index_of(b, mixed, g));
}

TEST_CASE("Groups have the same bits on any number of threads") {
  Rows rows = decays(80, [](int g) { return g % 3 == 0 ? 33 : 40; });
  rows.shuffle(3);
  FitOptions options;
  options.threads = 1;
  const GroupsResult one = curve_fit_groups(model("exp"), rows.x, rows.y, rows.group, {}, options);
  options.threads = 3;
  const GroupsResult three = curve_fit_groups(model("exp"), rows.x, rows.y, rows.group, {}, options);
  REQUIRE(one.size() == three.size());
  for (std::size_t k = 0; k < one.size(); ++k) check_same_bits(one, k, three, k);
}

TEST_CASE("A group that cannot be fitted has a reason, and the others are fitted") {
  Rows rows = decays(3, [](int) { return 30; });
  rows.add(-2.5, 1, 2), rows.add(-2.5, 2, 3);  // fewer rows than parameters
  for (int i = 0; i < 30; ++i) rows.add(1e9, i, i == 7 ? std::numeric_limits<double>::infinity() : 1.0);
  const GroupsResult fits = curve_fit_groups(model("exp"), rows.x, rows.y, rows.group);
  REQUIRE(fits.size() == 5);
  CHECK(fits.succeeded == 3);
  CHECK_FALSE(fits.success());
  CHECK(fits.verdict[3] == Verdict::failed);
  CHECK(fits.message[3].find("2 rows cannot determine 3 parameters") == 0);
  CHECK(std::isnan(fits.standard_errors(3, 0)));
  CHECK(fits.message[4].find("inf") != std::string::npos);
}

TEST_CASE("One group is a plain fit, of a callable as of a formula") {
  const Rows rows = decays(1, [](int) { return 50; });
  const auto decay = [](const auto& x, const auto& p) {
    using std::exp;
    return p[0] * exp(-p[1] * x) + p[2];
  };
  const std::vector<double> start = {1, 1, 0};
  const GroupsResult fits = curve_fit_groups(decay, Column(rows.x), rows.y, rows.group, start);
  REQUIRE(fits.size() == 1);
  check_alone(fits, 0, curve_fit(decay, Column(rows.x), rows.y, start));
}

TEST_CASE("Mistakes in the columns and the options are errors") {
  const Rows rows = decays(2, [](int) { return 30; });
  const auto fit = [&](const std::vector<double>& group, const FitOptions& options = {}) {
    return curve_fit_groups(model("exp"), rows.x, rows.y, group, {}, options);
  };
  CHECK_THROWS_WITH_AS(fit({1, 2}), "group has 2 rows, y has 60: give columns of one length", DataError);
  std::vector<double> group = rows.group;
  group[4] = std::nan("");
  CHECK_THROWS_WITH_AS(fit(group), "group of row 4 is nan: give each row a finite number", DataError);
  FitOptions options;
  options.callback = [](const IterationSummary&) { return Continue; };
  CHECK_THROWS_AS(fit(rows.group, options), ValidationError);
  options = {};
  options.fixed = {"q"};
  CHECK_THROWS_AS(fit(rows.group, options), ValidationError);
}

TEST_CASE("A group with too few rows has no parameters and no degrees of freedom") {
  Rows rows = decays(2, [](int) { return 30; });
  rows.add(9, 1, 2);
  const GroupsResult fits = curve_fit_groups(model("exp"), rows.x, rows.y, rows.group);
  CHECK(std::isnan(fits.parameters(2, 0)));
  CHECK(std::isnan(fits.standard_errors(2, 1)));
  CHECK(fits.dof[2] == 0);
}

TEST_CASE("Nearly all fits from good first guesses stay in lanes") {
  // Once, f32 costs rejected half of them: a good guess differs from the minimum by less than their rounding.
  const Rows rows = decays(
      400, [](int) { return 50; }, 8);
  const GroupsResult fits = curve_fit_groups(model("exp"), rows.x, rows.y, rows.group);
  CHECK(fits.success());
  CHECK(fits.in_lanes >= 392);
}

TEST_CASE("Groups that start together have the minima of their own guesses") {
  // 4200 groups of widely different rates start from one point. 600 of them grow instead of decaying.
  std::mt19937 random(4);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::normal_distribution<double> noise(0, 0.05);
  Rows rows;
  for (int g = 0; g < 4200; ++g) {
    const double a = 1 + 9 * uniform(random), b = std::exp(3 * uniform(random) - 2), c = uniform(random);
    for (int i = 0; i < 20; ++i) {
      const double x = 0.3 * i, at = g % 7 == 0 ? a * std::exp(0.3 * x) : a * std::exp(-b * x);
      rows.add(g, x, at + c + noise(random));
    }
  }
  const GroupsResult together = curve_fit_groups(model("exp"), rows.x, rows.y, rows.group);
  REQUIRE(together.size() == 4200);
  const std::size_t half = 2100 * 20;
  for (const std::size_t first : {std::size_t{0}, half}) {  // fewer groups: each has its own guess
    const auto part = [&](const std::vector<double>& v) {
      return std::vector<double>(v.begin() + static_cast<std::ptrdiff_t>(first),
                                 v.begin() + static_cast<std::ptrdiff_t>(first + half));
    };
    const GroupsResult own = curve_fit_groups(model("exp"), part(rows.x), part(rows.y), part(rows.group));
    for (std::size_t k = 0; k < own.size(); ++k) {
      const std::size_t all = k + first / 20;
      CAPTURE(all);
      CHECK(together.verdict[all] == own.verdict[k]);
      CHECK(together.cost[all] <= own.cost[k] * (1 + 1e-6));
    }
  }
}

TEST_CASE("groups in lanes leave a saddle of full rank as single fits do") {
  constexpr int kShapes = 40, kPoints = 28;
  std::vector<double> group, x1, x2, y;
  for (int g = 0; g < kShapes; ++g) {
    for (int i = 0; i < kPoints; ++i) {
      const double t = 2 * 3.141592653589793 * i / kPoints, size = 1 + 0.8 * std::cos(2 * t);
      group.push_back(g);
      x1.push_back(size * std::cos(t));
      x2.push_back(size * std::sin(t));
      y.push_back(0);
    }
  }
  const char* const circle = "hypot(x1-a,x2-b)-r";
  const nlsq::NamedValues p0 = {{"a", 0}, {"b", 0}, {"r", 1.3}};
  const nlsq::GroupsResult all = nlsq::curve_fit_groups(circle, {x1, x2}, y, group, p0);
  for (const double cost : all.cost) CHECK(cost < 4.36);  // 4.48 at the centre
}

TEST_CASE("Parameters that end on a bound are named, in fits of their own and in a joint one") {
  const Rows rows = decays(40, [](int) { return 30; });
  GroupOptions options;
  const GroupsResult free = curve_fit_groups("a*exp(-b*x)+c", rows.x, rows.y, rows.group, {}, options);
  CHECK(std::ranges::count(free.at_bound, 1) == 0);
  CHECK(free.at_bound.size() == 120);
  options.bounds = {{-INFINITY, -INFINITY, -INFINITY}, {INFINITY, INFINITY, 0.5}};
  for (const bool shared : {false, true}) {
    CAPTURE(shared);
    if (shared) options.share = {"c"};
    const GroupsResult fits = curve_fit_groups("a*exp(-b*x)+c", rows.x, rows.y, rows.group, {}, options);
    for (std::size_t k = 0; k < fits.size(); ++k) {
      CHECK(fits.parameters(k, 2) == 0.5);
      CHECK(fits.is_at_bound(k, 2));
      CHECK(!fits.is_at_bound(k, 0));
      CHECK(std::isnan(fits.standard_errors(k, 2)));
    }
  }
}

TEST_CASE("groups of a formula without starting values begin where the fit of the largest group ends") {
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  Rows rows;
  for (int g = 0; g < 12; ++g) {
    for (int i = 0; i < (g == 7 ? 90 : 60); ++i) {
      const double x = 0.8 * i;
      rows.add(g, x, 2 * std::sin(2.3 * x + 0.1 * g) + 0.5 + 0.02 * normal(random));
    }
  }
  const char* const formula = "a*sin(w*x+p)+c";
  const GroupsResult found = curve_fit_groups(formula, rows.x, rows.y, rows.group);
  CHECK(found.succeeded == 12);
  for (std::size_t k = 0; k < 12; ++k) {
    CHECK(std::fabs(found.parameters(k, 1)) == doctest::Approx(2.3).epsilon(1e-3));
    CHECK(found.r_squared[k] > 0.99);
  }
  // Values that the caller gives are kept.
  const GroupsResult kept =
      curve_fit_groups(formula, rows.x, rows.y, rows.group, {{"a", 1}, {"w", 1}, {"p", 1}, {"c", 1}});
  CHECK(*std::ranges::max_element(kept.r_squared) < 0.5);
}
