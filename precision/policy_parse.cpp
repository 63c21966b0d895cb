// Parses the text of a precision policy. PrecisionPolicy::parse documents the grammar.
#include <nlsq/precision_policy.hpp>

#include "policy_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <utility>

namespace nlsq::inline v0 {

namespace {

constexpr const char* kUsePolicy = "use auto, f32, f64, or components such as residual=f32,gram=f64,gate=off";

// Collects the settings that the items of a text name, and the violations in them.
class Reader {
 public:
  void read(std::string_view text) {
    const auto sections = split(text, ';');
    read_formats(sections.front());
    for (std::size_t i = 1; i < sections.size(); ++i) read_rule(sections[i]);
  }

  PrecisionPolicy policy() {
    PrecisionPolicy result = draft_.policy();
    for (Violation& v : result.validate()) wrong_.push_back(std::move(v));
    if (!wrong_.empty()) throw ValidationError(std::move(wrong_));
    return result;
  }

 private:
  void refuse(std::string_view field, std::string_view value, std::string reason) {
    wrong_.push_back({std::string(field), std::string(value), std::move(reason)});
  }

  void read_formats(std::string_view text) {
    const auto items = split(text, ',');
    std::size_t first = 0;
    if (items.front().starts_with("custom{")) {
      read_custom(items[first++]);
    } else if (items.front().find('=') == std::string_view::npos) {
      read_alias(items[first++]);
    }
    for (std::size_t i = first; i < items.size(); ++i) {
      const std::optional<Assignment> item = assignment(items[i]);
      if (item) read_item(item->key, item->value);
      else refuse("", "", fmt::format("'{}' is not component=format: {}", items[i], kUsePolicy));
    }
  }

  void read_rule(std::string_view text) {
    try {
      draft_.base.rules.push_back(PrecisionRule::parse(text));
    } catch (const ValidationError& error) {
      wrong_.insert(wrong_.end(), error.details().begin(), error.details().end());
    }
  }

  void read_alias(std::string_view text) {
    const auto alias = std::ranges::find(policy_aliases(), text, &PolicyAlias::name);
    if (alias == policy_aliases().end())
      return refuse("", "", fmt::format("unknown precision policy '{}': {}", text, kUsePolicy));
    draft_.base = alias->make();
  }

  void read_item(std::string_view key, std::string_view value) {
    const std::size_t dot = key.find('.');
    if (dot != std::string_view::npos) return read_dotted(key.substr(0, dot), key.substr(dot + 1), value);
    if (std::optional<Format>* part = part_named(draft_.formats, key)) return read_format(*part, key, value);
    if (key == "gate" || key == "strict") return read_switch(key, value);
    if (key == "p" || key == "params" || key == "o" || key == "output") return read_boundary(key, value);
    if (key == "c" || key == "compute") return read_compute(draft_.formats, key, value);
    refuse("", "", fmt::format("unknown precision component '{}': {}", key, kUsePolicy));
  }

  void read_format(std::optional<Format>& part, std::string_view field, std::string_view value) {
    if (auto fault = set_format(part, std::string(field), value)) wrong_.push_back(std::move(*fault));
  }

  void read_switch(std::string_view key, std::string_view value) {
    if (value != "on" && value != "off") return refuse(key, fmt::format("'{}'", value), "use on or off");
    (key == "gate" ? draft_.base.entry_gate : draft_.base.strict) = value == "on";
  }

  void read_boundary(std::string_view key, std::string_view value) {
    std::optional<Format> format;
    read_format(format, key, value);
    if (!format || *format == Format::f64) return;
    if (key.starts_with('p')) {
      refuse(key, value,
             "parameters are stored in f64: rounding them limits the answer, and they are few; use p=f64");
    } else {
      refuse(key, value, "results are given as they were certified, in f64; use o=f64");
    }
  }

  // A compute format below f32 applies to the operands of the Gram matrix; rows are then f32.
  void read_compute(FormatChange& change, std::string_view key, std::string_view value) {
    std::optional<Format> format;
    read_format(format, key, value);
    if (!format) return;
    if (change.residual || change.jacobian)
      return refuse(key, value, "stands for residual and jacobian; name it or them");
    change.residual = std::max(*format, Format::f32);
    change.jacobian = *format;
  }

  void read_dotted(std::string_view prefix, std::string_view part, std::string_view value) {
    const std::string field = fmt::format("{}.{}", prefix, part);
    if (prefix == "threshold") return read_threshold(part, field, value);
    const bool floor = prefix == "floor";
    FormatChange& change = floor ? draft_.floor : prefix == "ceiling" ? draft_.ceiling : component(prefix);
    std::optional<Format>* format = part_named(change, part);
    if (format == nullptr)
      return refuse(field, value, "there are the parts residual, jacobian, gram and solve");
    if (floor && (part == "residual" || part == "solve")) {
      return refuse(field, value, "only jacobian and gram ever go down");
    }
    if (prefix == "ceiling" && part == "solve")
      return refuse(field, value, "the factorisation is always f64");
    read_format(*format, field, value);
  }

  void read_threshold(std::string_view name, const std::string& field, std::string_view value) {
    const auto table = threshold_table();
    const auto known = std::ranges::find(table, name, &ThresholdInfo::name);
    if (known == table.end()) {
      return refuse(field, value,
                    fmt::format("there are the thresholds {}",
                                fmt::join(table | std::views::transform(&ThresholdInfo::name), ", ")));
    }
    const std::optional<double> given = number(value);
    const bool whole = std::holds_alternative<int Thresholds::*>(known->member);
    if (!given ||
        (whole && *given != static_cast<double>(static_cast<long long>(std::clamp(*given, -1e15, 1e15))))) {
      return refuse(field, value,
                    fmt::format("use a {} from {} to {}", whole ? "whole number" : "number", known->least,
                                known->most));
    }
    set_value(draft_.base.thresholds, *known, *given);
  }

  FormatChange& component(std::string_view name) {
    auto& all = draft_.base.components;
    const auto known = std::ranges::find(all, name, &ComponentFormats::name);
    if (known != all.end()) return known->change;
    return all.emplace_back(ComponentFormats{std::string(name), {}}).change;
  }

  // Reads custom{compute=bf16,reduction=f32}; "->" may replace "=".
  void read_custom(std::string_view text) {
    if (!text.ends_with('}'))
      return refuse("custom", "", "the closing brace is missing: custom{compute=bf16,reduction=f32}");
    const std::string_view inside = text.substr(7, text.size() - 8);
    for (const std::string_view piece : split(inside, ',')) {
      const std::size_t arrow = piece.find("->");
      const std::optional<Assignment> item =
          arrow == std::string_view::npos
              ? assignment(piece)
              : Assignment{trimmed(piece.substr(0, arrow)), trimmed(piece.substr(arrow + 2))};
      if (item) read_operation(item->key, item->value);
      else refuse("custom", "", fmt::format("'{}' is not operation=format", piece));
    }
  }

  void read_operation(std::string_view operation, std::string_view value) {
    FormatChange& f = draft_.formats;
    if (operation == "compute") return read_compute(f, operation, value);
    if (operation == "evaluate" || operation == "elementwise")
      return read_shared(f.residual, operation, value);
    if (operation == "gram_product" || operation == "data_movement" || operation == "jacobian_storage") {
      return read_shared(f.jacobian, operation, value);
    }
    if (operation == "reduction" || operation == "gram_sum") return read_shared(f.gram, operation, value);
    if (operation == "solve") return read_format(f.solve, operation, value);
    if (operation == "parameters" || operation == "results") return read_boundary(operation, value);
    if (operation == "boundary") return read_boundary("parameters", value);
    if (operation == "cost_sum" || operation == "gradient_sum") {
      return refuse(operation, value, "follows from evaluate and gram_sum: name those");
    }
    std::vector<const char*> names;
    for (const OperationKind kind : kOperationKinds) names.push_back(name(kind));
    for (const Operation known : kOperations) {
      if (known != Operation::elementwise) names.push_back(name(known));
    }
    refuse(operation, value, fmt::format("no operation; there are {}", fmt::join(names, ", ")));
  }

  // Reads a format for an operation that shares one part of the solve, and thus one format, with others.
  void read_shared(std::optional<Format>& part, std::string_view operation, std::string_view value) {
    std::optional<Format> format;
    read_format(format, operation, value);
    if (!format) return;
    if (part && *part != *format) {
      return refuse(operation, value,
                    fmt::format("an operation named before it runs in {}, and the two are one", name(*part)));
    }
    part = format;
  }

  PolicyDraft draft_;
  std::vector<Violation> wrong_;
};

}  // namespace

PrecisionPolicy PrecisionPolicy::parse(std::string_view text) {
  Reader reader;
  reader.read(text);
  return reader.policy();
}

namespace {

constexpr PartFormats kAllF64{Format::f64, Format::f64, Format::f64, Format::f64};

bool below_f64(const PartFormats& f) { return f != kAllF64; }

// Returns the floors with the named ones changed. If the text names the floor of one part, the floor of the
// other part stays as it is, provided that the pair is valid. Otherwise the other floor changes too, as it
// always does for the formats at the start.
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
  const bool low_component = std::ranges::any_of(
      base.components, [&](const ComponentFormats& c) { return below_f64(changed(result, c.change)); });
  result.adaptive = below_f64(result) || low_component || result.jacobian_floor != Format::f64 ||
                    result.gram_floor != Format::f64;
  return result;
}

}  // namespace nlsq::inline v0
