// Validation of precision policies, and the formats that operations and components start in.
#include <nlsq/precision_policy.hpp>

#include <nlsq/error.hpp>
#include <nlsq/precision_scope.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace nlsq::inline v0 {

namespace {

using Violations = std::vector<Violation>;

void append(Violations& all, Violations more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

// Calls f(name of the part, its format in a, its format in b) for residual, jacobian and gram.
template <class F>
void each_part(const PartFormats& a, const PartFormats& b, F f) {
  f("residual", a.residual, b.residual);
  f("jacobian", a.jacobian, b.jacobian);
  f("gram", a.gram, b.gram);
}

void check_ceiling(Violations& found, const PrecisionPolicy& policy) {
  append(found, validate(policy.ceiling, "ceiling."));
  each_part(policy, policy.ceiling, [&](const char* part, Format start, Format highest) {
    if (start <= highest) return;
    found.push_back({fmt::format("ceiling.{}", part), name(highest),
                     fmt::format("below {}={}, which the fit starts in; raise the ceiling or start lower",
                                 part, name(start))});
  });
}

void check_floor(Violations& found, const PrecisionPolicy& policy) {
  const auto check = [&](const char* part, Format lowest, Format start) {
    if (lowest <= start) return;
    found.push_back({fmt::format("floor.{}", part), name(lowest),
                     fmt::format("above {}={}, which the fit starts in; lower the floor or start higher",
                                 part, name(start))});
  };
  check("jacobian", policy.jacobian_floor, policy.jacobian);
  check("gram", policy.gram_floor, policy.gram);
  const PartFormats lowest{Format::f64, policy.jacobian_floor, policy.gram_floor, Format::f64};
  append(found, validate(lowest, "floor."));
}

bool is_component_name(std::string_view text) {
  const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; };
  const auto other = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) || c == '-'; };
  return !text.empty() && letter(text.front()) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return letter(c) || other(c); });
}

void check_components(Violations& found, const PrecisionPolicy& policy) {
  for (const ComponentFormats& c : policy.components) {
    const bool reserved = c.name == "floor" || c.name == "ceiling" || c.name == "threshold";
    if (reserved || !is_component_name(c.name)) {
      found.push_back(
          {c.name, "",
           "no name of a component: use letters, digits, - and _, and none of floor, ceiling, threshold"});
    }
    const PartFormats formats = changed(policy, c.change);
    append(found, validate(formats, c.name + "."));
    each_part(formats, policy.ceiling, [&](const char* part, Format start, Format highest) {
      if (start <= highest) return;
      found.push_back({fmt::format("{}.{}", c.name, part), name(start),
                       fmt::format("above ceiling.{}={}", part, name(highest))});
    });
  }
  for (std::size_t i = 0; i < policy.components.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (policy.components[i].name == policy.components[k].name)
        found.push_back({policy.components[i].name, "", "given twice; give each component once"});
}

void check_rules(Violations& found, const PrecisionPolicy& policy) {
  for (const PrecisionRule& rule : policy.rules) {
    append(found, rule.validate());
    const auto refuse = [&](const char* part, Format format, std::string why) {
      found.push_back({fmt::format("rule '{}'", rule.to_string()), "",
                       fmt::format("{}={} is {}", part, name(format), std::move(why))});
    };
    const auto check = [&](const char* part, const std::optional<Format>& asked, Format highest) {
      if (!asked) return;
      if (*asked > highest) refuse(part, *asked, fmt::format("above ceiling.{}={}", part, name(highest)));
      if (!policy.adaptive && *asked < Format::f64)
        refuse(part, *asked, "below the f64 that this policy never leaves; start from auto");
    };
    check("residual", rule.change.residual, policy.ceiling.residual);
    check("jacobian", rule.change.jacobian, policy.ceiling.jacobian);
    check("gram", rule.change.gram, policy.ceiling.gram);
  }
}

void check_thresholds(Violations& found, const Thresholds& thresholds) {
  for (const ThresholdInfo& info : threshold_table()) {
    const double value = value_of(thresholds, info);
    if (value >= info.least && value <= info.most) continue;
    found.push_back({fmt::format("threshold.{}", info.name), fmt::format("{}", value),
                     fmt::format("use a number from {} to {}", info.least, info.most)});
  }
}

}  // namespace

Violations PrecisionPolicy::validate() const {
  Violations found = nlsq::validate(static_cast<const PartFormats&>(*this));
  // Floors and ceilings are checked only if the formats themselves are valid, so that one fault is reported
  // once.
  if (found.empty()) {
    check_floor(found, *this);
    check_ceiling(found, *this);
    check_components(found, *this);
  }
  check_rules(found, *this);
  check_thresholds(found, thresholds);
  return found;
}

std::vector<std::string> PrecisionPolicy::violations() const {
  std::vector<std::string> lines;
  for (const Violation& v : validate()) lines.push_back(v.message());
  return lines;
}

Violations PrecisionPolicy::unknown_components(std::span<const std::string> names) const {
  Violations found;
  for (const ComponentFormats& c : components) {
    if (std::find(names.begin(), names.end(), c.name) != names.end()) continue;
    found.push_back(
        {c.name, "",
         names.empty()
             ? std::string(
                   "this problem has no named components: name the part alone, as in residual=f64, for "
                   "all rows; least_squares takes names of components, a Problem has set_component")
             : fmt::format("this problem has no such component; it has {}", fmt::join(names, ", "))});
  }
  return found;
}

PartFormats PrecisionPolicy::formats_of(std::string_view component) const {
  for (const ComponentFormats& c : components) {
    if (c.name == component) return changed(*this, c.change);
  }
  return *this;
}

Format PrecisionPolicy::precision_for(Operation operation) const noexcept {
  switch (operation) {
    case Operation::evaluate:
    case Operation::elementwise: return residual;
    case Operation::gram_product:
    case Operation::jacobian_storage: return jacobian;
    case Operation::gram_sum: return gram;
    // The residual is stored as one more column of the f32 tile. Beside a 16-bit J its products are widened.
    case Operation::cost_sum:
    case Operation::gradient_sum:
      return residual == Format::f32 && jacobian == Format::f32 ? gram : Format::f64;
    case Operation::solve: return solve;
    case Operation::parameters:
    case Operation::results: return Format::f64;
  }
  return Format::f64;
}

Format PrecisionPolicy::precision_for(OperationKind kind) const noexcept {
  Format narrowest = Format::f64;
  for (const Operation operation : kOperations) {
    if (kind_of(operation) == kind) narrowest = std::min(narrowest, precision_for(operation));
  }
  return narrowest;
}

namespace {

thread_local const PrecisionPolicy* innermost = nullptr;

}  // namespace

PrecisionPolicy current_policy() { return innermost != nullptr ? *innermost : PrecisionPolicy{}; }

PrecisionScope::PrecisionScope(PrecisionPolicy policy) : policy_(std::move(policy)), outer_(innermost) {
  if (auto found = policy_.validate(); !found.empty()) throw ValidationError(std::move(found));
  innermost = &policy_;
}

PrecisionScope::~PrecisionScope() { innermost = outer_; }

}  // namespace nlsq::inline v0
