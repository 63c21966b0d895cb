// Tests that the warnings of fits with success reach the results of groups and batches, and fits of groups in
// which a parameter is fixed at the first guess of each group.
#include <nlsq/groups.hpp>
#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

struct Rows {
  std::vector<double> x, y, group;
};

// Returns groups of `rows` rows of f(x, g), with an error that alternates in sign.
template <class F>
Rows rows_of(int groups, int rows, double error, F f) {
  Rows out;
  for (int g = 0; g < groups; ++g) {
    for (int i = 0; i < rows; ++i) {
      const double x = 4.0 * i / (rows - 1);
      out.x.push_back(x);
      out.y.push_back(f(x, g) + (i % 2 == 0 ? error : -error) * (1 + i % 3));
      out.group.push_back(g);
    }
  }
  return out;
}

double decay(double x, int g) { return (2 + g) * std::exp(-x) + 1 + 4 * g; }

constexpr double kNone = std::numeric_limits<double>::infinity();

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("A parameter that is fixed without a value has the guess of each group in the joint fit") {
  const Rows rows = rows_of(2, 12, 0.01, decay);
  GroupOptions options;
  options.fixed = {"c"};
  options.share = {"b"};
  const GroupsResult fits = curve_fit_groups(model("exp"), rows.x, rows.y, rows.group, {}, options);
  REQUIRE(fits.success());
  REQUIRE(fits.joint.has_value());
  CHECK(fits.parameters(0, 2) != fits.parameters(1, 2));
  CHECK(fits.joint->parameters[0] == doctest::Approx(1).epsilon(0.1));
  // One formula with the same plateaus must give the same answer.
  std::vector<double> plateau;
  for (const double g : rows.group) plateau.push_back(fits.parameters(static_cast<std::size_t>(g), 2));
  const FitResult one = curve_fit("if(x2==0, a0, a1)*exp(-b*x1) + x3",
                                  Columns({Column(rows.x), Column(rows.group), Column(plateau)}), rows.y,
                                  {{"a0", 2}, {"a1", 3}, {"b", 1}});
  REQUIRE(one.success());
  CHECK(one.parameter_names[2] == "b");
  CHECK(fits.joint->parameters[0] == doctest::Approx(one.parameters[2]).epsilon(1e-8));
  CHECK(fits.joint->standard_errors[0] == doctest::Approx(one.standard_errors[2]).epsilon(1e-6));
  CHECK(fits.rss[0] + fits.rss[1] == doctest::Approx(one.rss).epsilon(1e-9));
  for (std::size_t g = 0; g < 2; ++g) {
    CHECK(fits.r_squared[g] > 0.99);
    CHECK(contains(fits.warnings[g], "c is fixed at a first guess"));
  }
}

TEST_CASE("A shared parameter that is fixed without a value is refused") {
  const Rows rows = rows_of(2, 12, 0.01, decay);
  GroupOptions options;
  options.fixed = {"c"};
  options.share = {"b", "c"};
  const auto fit = [&](const NamedValues& p0) {
    return curve_fit_groups(model("exp"), rows.x, rows.y, rows.group, p0, options);
  };
  CHECK_THROWS_WITH_AS(fit({}), doctest::Contains("'c' is fixed without a value"), ValidationError);
  CHECK(fit({{"c", 1}}).joint.has_value());
}

TEST_CASE("Groups, batches and prepared models have the warnings of single fits") {
  FitOptions options;
  options.loss = Loss::tukey(0.015);  // a third of the residuals are within it
  const Rows rows = rows_of(3, 25, 0.01, decay);
  const GroupsResult fits = curve_fit_groups(model("exp"), rows.x, rows.y, rows.group, {}, options);
  std::size_t warned = 0;
  for (std::size_t g = 0; g < 3; ++g) {
    if (!is_success(fits.verdict[g])) continue;
    CHECK(contains(fits.warnings[g], "beyond the scale of the loss"));
    ++warned;
  }
  REQUIRE(warned > 0);
  const std::vector<double> x(rows.x.begin(), rows.x.begin() + 25);
  std::vector<Column> y;
  for (std::size_t g = 0; g < 3; ++g) y.emplace_back(&rows.y[25 * g], 25);
  Matrix start(3, 3);
  for (std::size_t g = 0; g < 3; ++g)
    for (std::size_t j = 0; j < 3; ++j) start(g, j) = fits.parameters(g, j);
  BatchOptions of_batch(options);
  const BatchResult batch = curve_fit_batch(model("exp"), ColumnPerFit(x), ColumnPerFit(y), start, of_batch);
  for (std::size_t g = 0; g < 3; ++g) {
    CHECK(batch.warnings.contains(g) == is_success(batch.verdict[g]));
    if (is_success(batch.verdict[g])) CHECK(contains(batch.warnings.at(g), "beyond the scale of the loss"));
  }
}

TEST_CASE("Poles between the data are named in lanes, in single fits and for prepared models") {
  // The denominator 1 - 0.6 x is 0 at x = 1.67, between two rows.
  const auto ratio = [](double x, int g) { return (1 + (0.1 + 0.001 * g) * x) / (1 - 0.6 * x); };
  for (const int groups : {2, 40}) {
    CAPTURE(groups);
    const Rows rows = rows_of(groups, 16, 1e-3, ratio);
    const GroupsResult fits = curve_fit_groups(model("rational11"), rows.x, rows.y, rows.group);
    CHECK((fits.in_lanes > 0) == (groups == 40));
    for (std::size_t g = 0; g < fits.size(); ++g) {
      REQUIRE(is_success(fits.verdict[g]));
      CHECK(contains(fits.warnings[g], "the curve has a pole at x = 1.66"));
    }
    const std::vector<double> x(rows.x.begin(), rows.x.begin() + 16), y(rows.y.begin(), rows.y.begin() + 16);
    const FitResult prepared = curve_fit(PreparedModel(model("rational11")), x, y);
    REQUIRE(prepared.warnings.size() == 1);
    CHECK(contains(prepared.warnings[0], "the curve has a pole at x = 1.66"));
  }
  const Rows smooth = rows_of(40, 16, 1e-3, [](double x, int) { return (1 + 2 * x) / (1 + 0.6 * x); });
  const GroupsResult fits = curve_fit_groups(model("rational11"), smooth.x, smooth.y, smooth.group);
  for (const std::string& warning : fits.warnings) CHECK(warning.empty());
}

namespace {

// Checks that every group, in lanes or not, has the warnings of its fit alone, and that one of them holds
// `part`.
void check_as_single(const PreparedModel& model, const Rows& rows, int count, const NamedValues& p0,
                     const GroupOptions& options, const char* part) {
  const std::size_t length = rows.x.size() / static_cast<std::size_t>(count);
  const GroupsResult fits = curve_fit_groups(model, rows.x, rows.y, rows.group, p0, options);
  std::size_t found = 0;
  for (std::size_t k = 0; k < fits.size(); ++k) {
    const Column x(&rows.x[k * length], length), y(&rows.y[k * length], length);
    const FitResult fit = curve_fit(model, x, y, p0, options);
    CAPTURE(k);
    CHECK(fits.verdict[k] == fit.summary.verdict);
    std::string joined;
    for (const std::string& text : fit.warnings) joined += (joined.empty() ? "" : "; ") + text;
    if (is_success(fits.verdict[k])) CHECK(fits.warnings[k] == joined);
    if (contains(fits.warnings[k], part)) ++found;
  }
  CHECK(found > 0);
}

}  // namespace

TEST_CASE("Many groups of one length, some of them in lanes, have the warnings of single fits") {
  const auto falling = [](double x, int g) { return 10 - x - 0.01 * g; };
  const auto exact = [](double x, int g) { return g == 3 ? 3 * std::exp(-x) : decay(x, g); };
  for (const int count : {3, 40}) {
    for (const std::string way : {"lanes", "time limit", "dogleg"}) {
      CAPTURE(count);
      CAPTURE(way);
      GroupOptions options;
      if (way[0] == 't') options.max_seconds = 60;
      if (way[0] == 'd') options.algorithm = Algorithm::dogleg;
      check_as_single(PreparedModel("a*x"), rows_of(count, 8, 0.1, falling), count, {}, options,
                      "a constant would fit y better than this curve");
      check_as_single(PreparedModel("a*b*x+c"), rows_of(count, 8, 0.1, falling), count,
                      {{"a", 1}, {"b", 1}, {"c", 1}}, options, "the data do not determine a, b");
      check_as_single(PreparedModel("a+b*x"), rows_of(count, 2, 0.1, falling), count, {}, options,
                      "as many parameters as rows");
      check_as_single(PreparedModel("a*exp(-b*x)+c"), rows_of(count + 1, 8, 0, exact), count + 1,
                      {{"a", 1}, {"b", 1}, {"c", 1}}, options, "noise floor");
      options.bounds = Bounds(-kNone, 0.5);
      check_as_single(PreparedModel("a*x"), rows_of(count, 8, 0.1, falling), count, {}, options,
                      "at a bound");
    }
  }
}

TEST_CASE("A batch has the warnings of its single fits, besides those of poles") {
  const Rows rows = rows_of(40, 8, 0.1, [](double x, int g) { return 10 - x - 0.01 * g; });
  std::vector<Column> y;
  for (std::size_t g = 0; g < 40; ++g) y.emplace_back(&rows.y[8 * g], 8);
  const std::vector<double> x(rows.x.begin(), rows.x.begin() + 8);
  for (const bool in_lanes : {true, false}) {
    BatchOptions options;
    options.in_lanes = in_lanes;
    const BatchResult fits =
        curve_fit_batch("a*x", ColumnPerFit(x), ColumnPerFit(y), Matrix(1, 1, 1.0), options);
    CHECK((fits.in_lanes > 0) == in_lanes);
    CHECK(fits.warnings.size() == 40);
    CHECK(contains(fits.warnings.at(39), "a constant would fit y better"));
    const BatchResult confounded =
        curve_fit_batch("a*b*x+c", ColumnPerFit(x), ColumnPerFit(y), Matrix(1, 3, 1.0), options);
    CHECK(confounded.success());
    CHECK(contains(confounded.warnings.at(39), "the data do not determine a, b"));
  }
  // The left side counts, not y itself: log(y) = a*x has a negative R², too.
  const BatchResult left =
      curve_fit_batch("log(y) = a*x", ColumnPerFit(x), ColumnPerFit(y), Matrix(1, 1, 1.0));
  CHECK(left.warnings.size() == 40);
}

TEST_CASE("Joint fits warn of what they say about each group, and name the group that determines nothing") {
  GroupOptions options;
  options.share = {"b"};
  const Rows falling = rows_of(3, 8, 0.1, [](double x, int g) { return 10 - x - g; });
  const GroupsResult poor = curve_fit_groups(PreparedModel("a*x+b*x^2"), falling.x, falling.y, falling.group,
                                             {{"a", 1}, {"b", 1}}, options);
  for (const std::string& text : poor.warnings) CHECK(contains(text, "a constant would fit y better"));
  options.share = {"c"};
  Rows rows = rows_of(3, 6, 0.1, [](double x, int) { return 1 + 2 * x; });
  for (std::size_t i = 6; i < 12; ++i) rows.x[i] = 2;
  const GroupsResult fits = curve_fit_groups(PreparedModel("a+b*x+c*x^2"), rows.x, rows.y, rows.group,
                                             {{"a", 1}, {"b", 1}, {"c", 0}}, options);
  REQUIRE(fits.joint.has_value());
  CHECK(contains(fits.warnings[1], "the data do not determine a, b"));
  CHECK(contains(fits.warnings[1], "the rows of this group do not determine its own parameters"));
  CHECK(fits.warnings[0].empty());
  CHECK(fits.warnings[2].empty());
  CHECK(contains(fits.joint->summary.message,
                 "the rows of 1 of 3 groups do not determine their own parameters"));
  CHECK_FALSE(contains(fits.joint->summary.message, "offset"));
}
