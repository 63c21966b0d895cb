// Runs NIST's 54 runs as batches of copies of one fit, in lanes where they apply. All copies must reach the
// certified values with the same bits.
#include <doctest/doctest.h>

#include "nist_fits.hpp"

namespace {

constexpr std::size_t kCopies = 40;

nlsq::BatchResult copies(const nist::Set& set, const std::vector<double>& start,
                         const nlsq::BatchOptions& options) {
  const nlsq::PreparedModel model(nist::parsed(set));
  nlsq::Matrix y(kCopies, set.rows()), p0(1, start.size());
  for (std::size_t f = 0; f < kCopies; ++f) std::copy(set.y.begin(), set.y.end(), &y(f, 0));
  for (std::size_t j = 0; j < start.size(); ++j) {  // in the model's order
    const auto& names = model.parameter_names();
    p0(0, static_cast<std::size_t>(std::find(names.begin(), names.end(), set.parameters[j]) -
                                   names.begin())) = start[j];
  }
  return nlsq::curve_fit_batch(model, {set.x.begin(), set.x.end()}, y, p0, options);
}

void check_all_runs(const char* policy) {
  nlsq::BatchOptions options;
  options.precision = nlsq::PrecisionPolicy::parse(policy);
  int in_lanes = 0, runs = 0;
  double sum = 0;
  for (const nist::Set& set : nist::load()) {
    CAPTURE(set.name);
    for (const auto* start : {&set.start1, &set.start2}) {
      const nlsq::BatchResult many = copies(set, *start, options);
      CHECK(many.success());
      CHECK((many.in_lanes == 0 || many.in_lanes == kCopies));
      in_lanes += many.in_lanes > 0;
      double digits = 11;
      for (std::size_t j = 0; j < set.parameters.size(); ++j) {
        const auto& names = many.parameter_names;
        const auto k = static_cast<std::size_t>(std::find(names.begin(), names.end(), set.parameters[j]) -
                                                names.begin());
        digits = std::min(digits, nist::lre(many.parameters(0, k), set.certified[j]));
        for (std::size_t f = 1; f < kCopies; ++f) CHECK(many.parameters(f, k) == many.parameters(0, k));
      }
      fmt::print("{} {}: {:.2f} digits, {} in lanes, {} iterations\n", policy, set.name, digits,
                 many.in_lanes, many.iterations[0]);
      CHECK(digits >= 8);
      sum += digits;
      ++runs;
    }
  }
  fmt::print("{}: {} of {} in lanes, mean {:.2f} digits\n", policy, in_lanes, runs, sum / runs);
  CHECK(runs == 54);
  CHECK(in_lanes >= 10);
  CHECK(sum / runs >= 10);
}

}  // namespace

TEST_CASE("all 54 runs reach the certified values as batches, led by f32") { check_all_runs("auto"); }
TEST_CASE("all 54 runs reach the certified values as batches in f64") { check_all_runs("f64"); }
