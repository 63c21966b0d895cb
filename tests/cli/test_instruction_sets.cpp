// Tests that NLSQ_ISA applies to the whole program. Every set of kernels that this CPU runs must give the
// same fit, and the report must name it.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "kernels/kernel_table.hpp"

#include "program.hpp"

using namespace program;

namespace {

const std::string kDecay = NLSQ_SOURCE_DIR "/data/decay.csv";

nlohmann::json fit_with(const std::string& set, const std::string& arguments) {
  return nlohmann::json::parse(run(kDecay + " --quiet --json - " + arguments, "NLSQ_ISA=" + set).out, nullptr,
                               false);
}

}  // namespace

TEST_CASE("each instruction set is used when it is named, in every precision, and ends at the same fit") {
  for (const char* precision : {"f64", "f32"}) {
    CAPTURE(precision);
    const std::string arguments = std::string("--model exp --precision ") + precision;
    const nlohmann::json reference = fit_with("baseline", arguments);
    REQUIRE(reference.is_object());
    for (const nlsq::KernelTable* set : nlsq::available_kernels()) {
      const std::string name = set->name;
      CAPTURE(name);
      const nlohmann::json fit = fit_with(name, arguments);
      REQUIRE(fit.is_object());
      CHECK(fit["kernel"] == name);
      CHECK(fit["verdict"] == "CONVERGED");
      for (const char* p : {"a", "b", "c"}) {
        const double value = parameter(fit, p)["value"], expected = parameter(reference, p)["value"];
        CHECK(value == doctest::Approx(expected).epsilon(1e-10));
      }
    }
  }
}

TEST_CASE("an instruction set that is not there is refused with those that are") {
  const Outcome outcome = run(kDecay + " --model exp", "NLSQ_ISA=mmx");
  CAPTURE(outcome.out);
  CHECK(outcome.status == 2);
  for (const nlsq::KernelTable* set : nlsq::available_kernels()) CHECK(contains(outcome.out, set->name));
}
