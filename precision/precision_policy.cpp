#include <nlsq/error.hpp>
#include <nlsq/precision_policy.hpp>

#include <fmt/format.h>

namespace nlsq::inline v0 {

namespace {

constexpr const char* kUse = "use auto, f32, f64, or components such as residual=f32,gram=f64,gate=off";

// Sets one `key=value`; returns what is wrong with it, or nothing.
std::string apply(PrecisionPolicy& policy, std::string_view key, std::string_view value) {
  if (key == "gate") {
    if (value != "on" && value != "off") return fmt::format("gate='{}': use on or off", value);
    policy.entry_gate = value == "on";
    return {};
  }
  if (key != "residual" && key != "gram") {
    return fmt::format("unknown precision component '{}': {}", key, kUse);
  }
  try {
    (key == "gram" ? policy.gram : policy.residual) = parse_format(value);
  } catch (const ValidationError& error) {
    return fmt::format("{}: {}", key, error.what());
  }
  return {};
}

}  // namespace

std::vector<std::string> PrecisionPolicy::violations() const {
  std::vector<std::string> found;
  for (const auto& [component, format] : {std::pair{"residual", residual}, std::pair{"gram", gram}}) {
    if (format < Format::f32) {
      found.push_back(fmt::format("{}={}: rows are evaluated and summed in f32 or f64; {} is below what sums can bear",
                                  component, name(format), name(format)));
    }
  }
  if (residual == Format::f64 && gram == Format::f32) {
    found.push_back("gram=f32 with residual=f64: f64 derivatives would be thrown away; use residual=f32 or gram=f64");
  }
  return found;
}

PrecisionPolicy PrecisionPolicy::parse(std::string_view text) {
  if (text == "auto") return {};
  if (text == "f64") return all_f64();
  if (text == "f32") return {Format::f32, Format::f64, true, false};
  if (text.find('=') == std::string_view::npos) {
    throw ValidationError(fmt::format("unknown precision policy '{}': {}", text, kUse));
  }
  PrecisionPolicy policy;
  std::vector<std::string> wrong;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const std::string_view part = text.substr(begin, comma - begin);
    const std::size_t equals = part.find('=');
    const std::string fault = equals == std::string_view::npos
                                  ? fmt::format("'{}' is not component=format: {}", part, kUse)
                                  : apply(policy, part.substr(0, equals), part.substr(equals + 1));
    if (!fault.empty()) wrong.push_back(fault);
    begin = comma + 1;
  }
  policy.adaptive = policy.residual != Format::f64;
  for (auto& fault : policy.violations()) wrong.push_back(std::move(fault));
  if (!wrong.empty()) throw ValidationError(std::move(wrong));
  return policy;
}

std::string PrecisionPolicy::to_string() const {
  for (const char* alias : {"auto", "f32", "f64"}) {
    if (*this == parse(alias)) return alias;
  }
  if (!adaptive) return entry_gate ? "f64" : "residual=f64,gate=off";
  std::string text;
  const auto add = [&text](bool differs, std::string component) {
    if (differs) text += (text.empty() ? "" : ",") + component;
  };
  const PrecisionPolicy usual;
  add(residual != usual.residual, fmt::format("residual={}", name(residual)));
  add(gram != usual.gram, fmt::format("gram={}", name(gram)));
  add(!entry_gate, "gate=off");
  return text;
}

}  // namespace nlsq::inline v0
