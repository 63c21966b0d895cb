// Tests certified ends that are no success: undetermined parameters without a start, and models that explain
// nothing. The library withdraws their certificates, so that all its users see the same verdict.
#include "certificate/doubtful_end.hpp"

#include <nlsq/curve_fit_batch.hpp>
#include <nlsq/groups.hpp>

#include <doctest/doctest.h>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Describes an end with two parameters, a and b. Both are nonlinear, and b is not determined.
struct End {
  std::array<std::string, 2> names{"a", "b"};
  std::array<double, 2> start{1, 1}, parameters{2, 1}, errors{0.1, kNone};
  std::vector<std::string> unstarted{};
  Verdict verdict = Verdict::rank_deficient;
  double r_squared = 0.9;
  std::vector<std::size_t> nonlinear{0, 1};
  std::vector<int> jumps{};

  std::string doubt() const {
    return doubt_about_end(
               {verdict, names, start, parameters, errors, nonlinear, unstarted, r_squared, jumps})
        .reason;
  }
};

// The model is a line with a hump that acts only beyond x = 100. The rows end at 29, so only d has an effect
// on them.
constexpr const char* kUnseen = "a*exp(-(x-m)^2/w)*if(x>100,1,0)+d*x";
struct Line {
  std::vector<double> x, y;
  Line() {
    for (int i = 0; i < 30; ++i) x.push_back(i), y.push_back(2 * i + 0.1 * std::sin(7.0 * i));
  }
};

}  // namespace

TEST_CASE("which certified ends are no success") {
  CHECK(End().doubt().empty());
  CHECK(End{.unstarted = {"a"}}.doubt().empty());  // a is determined
  CHECK(End{.unstarted = {"b"}}.doubt() == "the undetermined b had no starting value");
  CHECK(End{.unstarted = {"b"}, .nonlinear = {0}}.doubt().empty());  // b enters linearly and needs none
  CHECK(End{.r_squared = 0.001}.doubt() == "the model explains nothing of y");
  CHECK(End{.r_squared = kNone}.doubt() == "the model explains nothing of y");
  CHECK(End{.r_squared = 0.001, .nonlinear = {0}}.doubt().empty());
  CHECK(End{.parameters = {2, 1e-4}}.doubt() == "the undetermined b moved by more than a factor of 1000");
  CHECK(End{.parameters = {1e-4, 1}}.doubt().empty());
  CHECK(End{.unstarted = {"b"}, .jumps = {1}}.doubt().starts_with("the derivatives by b are 0 everywhere"));
  CHECK(End{.jumps = {0}}.doubt().empty());  // a is determined
  for (const Verdict verdict : {Verdict::converged, Verdict::budget, Verdict::failed})
    CHECK(End{.unstarted = {"b"}, .verdict = verdict, .r_squared = 0}.doubt().empty());
  const End balanced{.errors = {1e6, 1e6}, .verdict = Verdict::noise_floor, .r_squared = 0};
  CHECK_FALSE(balanced.doubt().empty());
  CHECK(End{.errors = {0.1, 1e6}, .verdict = Verdict::noise_floor, .r_squared = 0}.doubt().empty());
}

TEST_CASE("curve_fit, batches, groups and joint fits give no success to such an end") {
  const Line d;
  const NamedValues all{{"a", 1}, {"m", 1}, {"w", 1}, {"d", 1}};
  const FitResult unstarted = curve_fit(kUnseen, d.x, d.y);
  CHECK_FALSE(unstarted.success());  // once this was a success, RANK_DEFICIENT
  CHECK(unstarted.summary.message.find("m, w had no starting value") != std::string::npos);
  const FitResult started = curve_fit(kUnseen, d.x, d.y, all);
  CHECK(started.summary.verdict == Verdict::rank_deficient);  // only d can be found

  const std::vector<double> zeros(d.x.size(), 0.0);
  CHECK_FALSE(curve_fit("d*0 + exp(-m^2)*if(x>100,1,0)", d.x, zeros, {{"d", 1}, {"m", 1}}).success());

  Matrix y(2, d.x.size()), p0(1, 4);
  for (std::size_t i = 0; i < d.x.size(); ++i) y(0, i) = d.y[i], y(1, i) = std::sin(1e4 * d.x[i] * d.x[i]);
  for (std::size_t j = 0; j < 4; ++j) p0(0, j) = 1;
  const BatchResult batch = curve_fit_batch(kUnseen, d.x, y, p0);
  CHECK(batch.verdict[0] == Verdict::rank_deficient);
  CHECK(batch.verdict[1] == Verdict::budget);  // this is noise, of which nothing is explained

  std::vector<double> x, both, group;
  for (int g = 0; g < 2; ++g)
    for (std::size_t i = 0; i < d.x.size(); ++i)
      x.push_back(d.x[i]), both.push_back(d.y[i]), group.push_back(g);
  const GroupsResult groups = curve_fit_groups(PreparedModel(kUnseen, 1), x, both, group, {});
  CHECK(groups.succeeded == 0);
  CHECK(groups.message[0].find("had no starting value") != std::string::npos);
  CHECK(curve_fit_groups(PreparedModel(kUnseen, 1), x, both, group, all).succeeded == 2);
  GroupOptions joint;
  joint.share = {"m"};
  const GroupsResult shared = curve_fit_groups(PreparedModel(kUnseen, 1), x, both, group, {}, joint);
  CHECK(shared.succeeded == 0);
  CHECK(shared.joint->summary.verdict == Verdict::budget);
}

TEST_CASE("a joint fit with a doubtful group is no success as a whole, in all that it reports") {
  const Line d;
  std::vector<double> x, y, group;
  for (int g = 0; g < 3; ++g)
    for (std::size_t i = 0; i < d.x.size(); ++i)
      x.push_back(d.x[i]), y.push_back(g == 1 ? 0.01 * d.y[i] : d.y[i]), group.push_back(g);
  GroupOptions options;
  options.share = {"d"};
  const NamedValues all{{"a", 1}, {"m", 1}, {"w", 1}, {"d", 1}};
  const GroupsResult fits = curve_fit_groups(PreparedModel(kUnseen, 1), x, y, group, all, options);
  const Summary& joint = fits.joint->summary;
  CHECK(joint.verdict == Verdict::budget);
  CHECK(joint.termination == Termination::no_progress);  // once this was "converged", beside BUDGET
  CHECK_FALSE(joint.certificate.passed);
  CHECK(joint.certificate.verdict == Verdict::budget);
  CHECK(fits.succeeded == 0);  // once this was 2; their verdict is that of the joint fit
  for (std::size_t k = 0; k < 3; ++k) {
    CHECK(fits.verdict[k] == joint.verdict);
    CHECK(fits.termination[k] == joint.termination);
    CHECK((fits.message[k].find("in another group") != std::string::npos) == (k != 1));
  }
}

TEST_CASE("a joint fit that loses rank elsewhere doubts no parameter that the data determine") {
  std::vector<double> x, y, group;
  for (int g = 0; g < 3; ++g)
    for (int i = 0; i < 30; ++i) {
      x.push_back(i), group.push_back(g);
      y.push_back((2 + g) * std::exp(-0.1 * i) + 1 + 0.05 * std::sin(37.0 * i + g));
    }
  const NamedValues start{{"a", 1}, {"d", 1}, {"c", 0}};  // a and d are only known as a product
  for (const char* shared : {"c", "b", "a"}) {
    CAPTURE(shared);
    GroupOptions options;
    options.share = {shared};
    const GroupsResult fits =
        curve_fit_groups(PreparedModel("a*d*exp(-b*x)+c", 1), x, y, group, start, options);
    CHECK(fits.joint->summary.verdict == Verdict::rank_deficient);  // once BUDGET: "the undetermined b"
    CHECK(fits.succeeded == 3);
  }
  GroupOptions options;
  options.share = {"c"};
  const NamedValues other{{"a", 1}, {"b", 0.1}, {"c", 0}};
  const GroupsResult split =
      curve_fit_groups(PreparedModel("a*exp(-b*d*x)+c", 1), x, y, group, other, options);
  CHECK(split.joint->summary.verdict == Verdict::budget);  // d is undetermined and had no start
  CHECK(split.message[0].find("the undetermined d had no starting value") != std::string::npos);
}
