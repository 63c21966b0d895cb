// Defines the table of named policies: the names of nlsq, the names that graph compilers use, and presets.
#include <nlsq/precision_policy.hpp>

#include <array>

namespace nlsq::inline v0 {

namespace {

using enum Format;

PrecisionPolicy start_in(Format jacobian, bool gate) {
  PrecisionPolicy policy;
  static_cast<PartFormats&>(policy) =
      changed(policy, {.residual = {}, .jacobian = jacobian, .gram = {}, .solve = {}});
  policy.entry_gate = gate;
  return policy;
}

PrecisionPolicy automatic() { return {}; }
PrecisionPolicy single() { return start_in(f32, false); }
PrecisionPolicy sixteen_bits() { return start_in(bf16, false); }
PrecisionPolicy automatic_sixteen_bits() { return start_in(bf16, true); }

PrecisionPolicy strict() {
  PrecisionPolicy policy;
  policy.strict = true;
  return policy;
}

// Returns a policy that starts in a format and keeps it while steps are still accepted there.
PrecisionPolicy always(Format jacobian) {
  PrecisionPolicy policy = start_in(jacobian, false);
  policy.gram = f32;
  policy.jacobian_floor = jacobian;
  policy.ceiling = policy;
  return policy;
}
PrecisionPolicy always_single() { return always(f32); }
PrecisionPolicy always_half() { return always(f16); }

PrecisionPolicy sums_in_double() {
  PrecisionPolicy policy;
  policy.jacobian_floor = f32;
  policy.gram_floor = f64;
  return policy;
}

PrecisionPolicy conservative() {
  PrecisionPolicy policy = sums_in_double();
  policy.thresholds = Thresholds::conservative();
  return policy;
}

PrecisionPolicy aggressive() {
  PrecisionPolicy policy = start_in(bf16, true);
  policy.thresholds = Thresholds::aggressive();
  return policy;
}

constexpr std::array kAliases{
    PolicyAlias{"auto", "f32 rows where their number repays it, f64 when the digits run out", automatic},
    PolicyAlias{"f64", "every operation in f64 throughout", PrecisionPolicy::all_f64},
    PolicyAlias{"f32", "auto, every fit starting in f32 rows, however small", single},
    PolicyAlias{"bf16", "auto, every fit starting in f32 rows with a bf16 Jacobian in the Gram products",
                sixteen_bits},
    PolicyAlias{"strict",
                "auto, every row checked against the callable, and all-f64 runs where a doubt arose", strict},
    PolicyAlias{"always_f64", "the same as f64", PrecisionPolicy::all_f64},
    PolicyAlias{"always_f32", "f32 rows, products and tile sums as long as steps are accepted",
                always_single},
    PolicyAlias{"always_f16",
                "f16 operands of the Gram products, scaled, and f32 sums as long as steps are accepted",
                always_half},
    PolicyAlias{"auto_conservative", "auto with f64 sums", sums_in_double},
    PolicyAlias{"auto_bf16", "auto, starting with a bf16 Jacobian where that pays", automatic_sixteen_bits},
    PolicyAlias{"conservative", "auto with tight thresholds, f64 sums and no way back down", conservative},
    PolicyAlias{"balanced", "the same as auto", automatic},
    PolicyAlias{"aggressive", "auto with loose thresholds, starting with a bf16 Jacobian where that pays",
                aggressive},
};

}  // namespace

PrecisionPolicy PrecisionPolicy::all_f64() {
  PrecisionPolicy policy;
  policy.residual = policy.jacobian = policy.gram = f64;
  policy.jacobian_floor = policy.gram_floor = f64;
  policy.adaptive = false;
  return policy;
}

std::span<const PolicyAlias> policy_aliases() noexcept { return kAliases; }

}  // namespace nlsq::inline v0
