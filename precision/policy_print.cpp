// Prints a policy as its alias and the shortest list of differences from that alias.
#include <nlsq/precision_policy.hpp>

#include "policy_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace nlsq::inline v0 {

namespace {

struct NamedPolicy {
  const char* name;
  PrecisionPolicy policy;
};

const std::vector<NamedPolicy>& named_policies() {
  static const std::vector<NamedPolicy> all = [] {
    std::vector<NamedPolicy> made;
    for (const PolicyAlias& alias : policy_aliases()) made.push_back({alias.name, alias.make()});
    return made;
  }();
  return all;
}

// Selects the parts of `f` to name, by bits 0 to 2 of `which`. Names the solve too if it is not f64.
FormatChange chosen(const PartFormats& f, unsigned which) {
  FormatChange change;
  if (which & 1u) change.residual = f.residual;
  if (which & 2u) change.jacobian = f.jacobian;
  if (which & 4u) change.gram = f.gram;
  if (f.solve != Format::f64) change.solve = f.solve;
  return change;
}

constexpr std::array<unsigned, 8> kFewestFirst{0, 4, 2, 1, 6, 5, 3, 7};

// Returns the change with the fewest named parts that turns `from` into `to`.
FormatChange least_change(const PartFormats& from, const PartFormats& to) {
  for (const unsigned which : kFewestFirst) {
    if (const FormatChange change = chosen(to, which); changed(from, change) == to) return change;
  }
  return chosen(to, 7);
}

// Prints `policy` as differences from the base.
std::string differences(const PrecisionPolicy& policy, PrecisionPolicy base) {
  base.components = policy.components;
  PolicyDraft draft{base, least_change(base, policy), {}, least_change(base.ceiling, policy.ceiling)};
  const auto same_floor = [&] {
    const PrecisionPolicy made = draft.policy();
    return made.jacobian_floor == policy.jacobian_floor && made.gram_floor == policy.gram_floor;
  };
  const PartFormats floor{Format::f64, policy.jacobian_floor, policy.gram_floor, Format::f64};
  for (const unsigned which : {0u, 4u, 2u, 6u}) {
    draft.floor = chosen(floor, which);
    if (same_floor()) break;
  }
  std::string text;
  const auto add = [&](std::string_view items) {
    if (!items.empty()) text += fmt::format("{}{}", text.empty() ? "" : ",", items);
  };
  add(to_string(draft.formats));
  if (policy.entry_gate != base.entry_gate) add(policy.entry_gate ? "gate=on" : "gate=off");
  if (policy.strict != base.strict) add(policy.strict ? "strict=on" : "strict=off");
  add(to_string(draft.floor, "floor."));
  add(to_string(draft.ceiling, "ceiling."));
  for (const ThresholdInfo& t : threshold_table()) {
    const double value = value_of(policy.thresholds, t);
    if (value != value_of(base.thresholds, t)) add(fmt::format("threshold.{}={}", t.name, value));
  }
  for (const ComponentFormats& c : policy.components) add(to_string(c.change, c.name + "."));
  return text;
}

}  // namespace

std::string PrecisionPolicy::to_string() const {
  PrecisionPolicy plain = *this;
  plain.rules.clear();
  if (!adaptive) {  // every operation uses f64, whatever the formats say
    const PrecisionPolicy f64 = all_f64();
    static_cast<PartFormats&>(plain) = f64;
    plain.jacobian_floor = plain.gram_floor = Format::f64;
  }
  const auto& names = named_policies();
  const auto same = std::ranges::find(names, plain, &NamedPolicy::policy);
  std::string text = same != names.end() ? same->name : "";
  for (std::size_t i = 0; i < names.size() && same == names.end(); ++i) {
    std::string candidate = differences(plain, names[i].policy);
    if (i > 0 || candidate.empty())
      candidate = fmt::format("{}{}{}", names[i].name, candidate.empty() ? "" : ",",
                              candidate);  // auto is the default and need not be printed
    if (text.empty() || candidate.size() < text.size()) text = candidate;
  }
  for (const PrecisionRule& rule : rules) text += "; " + rule.to_string();
  return text;
}

}  // namespace nlsq::inline v0
