// Arguments that cannot be meant are refused, with words that say what was found and what would do.
#include "cli/program_data.hpp"

#include <doctest/doctest.h>

using namespace program;

namespace {

// Runs the program and checks that it refuses the arguments with status 2 and these words.
void refuses(const std::string& arguments, const std::string& words) {
  CAPTURE(arguments);
  const Outcome outcome = run(arguments);
  CAPTURE(outcome.out);
  CHECK(outcome.status == 2);
  CHECK(contains(outcome.out, words));
}

}  // namespace

TEST_CASE("an option that takes one value and is given twice is named so") {
  refuses(kDecay + " --model exp --model linear", "--model is given twice: exp and linear; give it once");
  refuses(kDecay + " --model exp --json a --json b --json c", "--json is given 3 times: a and b and c");
  refuses(kDecay + " --model exp --strategy dogleg --algorithm dogleg", "is given twice: dogleg and dogleg");
  refuses(kDecay + " --model", "--model needs a value: --model NAME|SUM|FORMULA");
}
