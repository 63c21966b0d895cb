// Tests fits with one mutant among the kernels. They must end certified only if the answer is right.

#include "dense/dense_evaluator.hpp"
#include "kernels/kernel_sets.hpp"

#include <nlsq/nlsq.hpp>
#include "rows/residual_sources.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "mutants.hpp"

using namespace nlsq;
using namespace mutants;

namespace {

struct Fit {
  std::vector<double> x, y;
  Fit() {
    for (int i = 0; i < 60000; ++i) {
      x.push_back(5e-5 * i);
      y.push_back(2 * std::exp(-0.9 * x.back()) + 1 + 1e-3 * std::sin(1e3 * i));
    }
  }
  FitResult operator()(const char* policy) const {
    FitOptions options;
    options.precision = PrecisionPolicy::parse(policy);
    return curve_fit("a*exp(-b*x)+c", x, y, {{"a", 1}, {"b", 1}, {"c", 0}}, options);
  }
};

}  // namespace

TEST_CASE(
    "each iteration's counters show its plan, in whole fits under every policy, and mutants that count "
    "honestly break that") {
  const Fit fit;
  const auto shows = [](const FitResult& result) {
    KernelCounters
        k;  // so far: a point's rows may have been evaluated an iteration before it is the start of one
    for (const IterationSummary& it : result.summary.iterations) {
      k.add(it.counters);
      if ((it.plan.residual == Format::f32 ? k.rows_f32 : k.rows_f64) < it.rows) return false;
      if (it.plan.gram == Gram::f32_tile && k.gram_flops_f32 == 0) return false;
      if (it.plan.gram == Gram::f32_wide && k.gram_flops_f32_wide == 0) return false;
      if (it.plan.gram == Gram::f16 && k.gram_flops_f16 == 0) return false;
      if (it.plan.gram == Gram::bf16 && k.gram_flops_bf16 == 0) return false;
    }
    return true;
  };
  for (const char* policy : {"auto", "f32", "f64", "bf16", "always_f32", "always_f16"}) {
    CAPTURE(std::string(policy));
    const FitResult honest = fit(policy);
    CHECK(honest.success());
    CHECK(shows(honest));
  }
  for (const auto& [policy, mutant] :
       {std::pair{"f32", "f32 rows counted as f64"},
        std::pair{"always_f32", "f32 products by the f64 kernel"},
        std::pair{"bf16", "bf16 products by the f32 kernel, counted as f32"}}) {
    CAPTURE(std::string(mutant));
    KernelTable table = real();
    spoil(table, mutant);
    const InUse use(table);
    CHECK_FALSE(shows(fit(policy)));
  }
}

TEST_CASE("f64 rows by the f32 kernel are never certified: the certificate asks the formula itself") {
  const Fit fit;
  KernelTable table = real();
  spoil(table, "f64 rows by the f32 kernel, counted as f64");
  const InUse use(table);
  for (const char* policy : {"auto", "f64", "f32"}) {
    CAPTURE(std::string(policy));
    const FitResult result = fit(policy);
    CHECK_FALSE(result.success());
    CHECK_FALSE(result.summary.certificate.recheck_passed);
  }
}
