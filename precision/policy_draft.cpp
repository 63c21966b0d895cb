// Builds a policy from a parsed draft: sets the named parts and adjusts the others.
#include "policy_draft.hpp"

#include <algorithm>

namespace nlsq::inline v0 {

namespace {

constexpr PartFormats kAllF64{Format::f64, Format::f64, Format::f64, Format::f64};

bool below_f64(const PartFormats& f) { return f != kAllF64; }

// If the text names the floor of one part, the floor of the other part stays as it is, provided that the pair
// is valid. Otherwise the other follows, as it always does for the formats at the start.
PartFormats lowest(const PrecisionPolicy& base, const FormatChange& floor) {
  const PartFormats from{Format::f64, base.jacobian_floor, base.gram_floor, Format::f64};
  PartFormats to = from;
  to.jacobian = floor.jacobian.value_or(from.jacobian);
  to.gram = floor.gram.value_or(from.gram);
  return validate(to).empty() ? to : changed(from, floor);
}

// Adjusts the floors that the text does not name. A start below the floor lowers the floor. A start in f16
// makes f16 the 16-bit format. A start in f64 throughout raises the floor to f64.
void follow(PrecisionPolicy& policy, const FormatChange& floor) {
  if (!floor.jacobian && !floor.gram && !below_f64(policy)) {
    policy.jacobian_floor = policy.gram_floor = Format::f64;
    return;
  }
  if (!floor.jacobian) {
    policy.jacobian_floor = std::min(policy.jacobian_floor, policy.jacobian);
    if (policy.jacobian == Format::f16) policy.jacobian_floor = Format::f16;
  }
  if (!floor.gram) policy.gram_floor = std::min(policy.gram_floor, policy.gram);
}

}  // namespace

PrecisionPolicy PolicyDraft::policy() const {
  PrecisionPolicy result = base;
  static_cast<PartFormats&>(result) = changed(base, formats);
  const PartFormats least = lowest(base, floor);
  result.jacobian_floor = least.jacobian;
  result.gram_floor = least.gram;
  follow(result, floor);
  result.ceiling = changed(base.ceiling, ceiling);
  const bool low_component =
      std::any_of(base.components.begin(), base.components.end(),
                  [&](const ComponentFormats& c) { return below_f64(changed(result, c.change)); });
  result.adaptive = below_f64(result) || low_component || result.jacobian_floor != Format::f64 ||
                    result.gram_floor != Format::f64;
  return result;
}

}  // namespace nlsq::inline v0
