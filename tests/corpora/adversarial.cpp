// Lists the adversarial problems, generator by generator.
#include "adversarial.hpp"

#include "adversarial_cases.hpp"

namespace problems {

namespace {

using adversarial_cases::Cases;

struct Generator {
  const char* attack;
  Cases (*cases)();
};

constexpr Generator kAll[kGenerators] = {
    {"y offset", adversarial_cases::big_response_offset},
    {"x offset", adversarial_cases::big_predictor_offset},
    {"scaled columns", adversarial_cases::scaled_columns},
    {"collinear", adversarial_cases::collinear_exponentials},
    {"confounded", adversarial_cases::confounded},
    {"f32 overflow", adversarial_cases::overflow_in_f32},
    {"overflow at trial", adversarial_cases::overflow_at_trial},
    {"cancellation", adversarial_cases::cancellation},
    {"zero residual", adversarial_cases::zero_residual},
    {"large residual", adversarial_cases::large_residual},
    {"polynomials", adversarial_cases::polynomials},
    {"constant x", adversarial_cases::constant_predictor},
    {"tiny and huge", adversarial_cases::tiny_and_huge},
    {"narrow peak", adversarial_cases::narrow_peak},
    {"identical rows", adversarial_cases::identical_rows},
    {"classics", adversarial_cases::classics},
    {"winding", adversarial_cases::winding},
    {"differences", adversarial_cases::differences},
};

}  // namespace

const char* attack(int generator) { return kAll[generator - 1].attack; }

std::vector<Problem> adversarial(int generator) { return kAll[generator - 1].cases(); }

std::vector<Problem> adversarial() {
  std::vector<Problem> out;
  for (int g = 1; g <= kGenerators; ++g) {
    for (Problem& c : adversarial(g)) out.push_back(std::move(c));
  }
  return out;
}

}  // namespace problems
