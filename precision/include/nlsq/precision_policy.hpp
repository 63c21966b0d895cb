// The precision policy of a fit says which number format each operation may use. Users set it as one value.
#pragma once

#include <nlsq/error.hpp>
#include <nlsq/export.hpp>
#include <nlsq/format.hpp>
#include <nlsq/operation.hpp>
#include <nlsq/part_formats.hpp>
#include <nlsq/precision_rule.hpp>
#include <nlsq/thresholds.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nlsq::inline v0 {

// Formats of one named component of a problem, where they differ from those of the other components.
struct ComponentFormats {
  std::string name;
  FormatChange change;  // relative to the formats of the policy
  bool operator==(const ComponentFormats&) const = default;
};

struct PrecisionPolicy;

// Gives a policy a name and an explanation.
struct PolicyAlias {
  const char* name;
  const char* meaning;
  PrecisionPolicy (*make)();
};
// Returns the table of aliases; "auto" is first.
NLSQ_API std::span<const PolicyAlias> policy_aliases() noexcept;

// Holds the formats that a fit starts in, and how far the scheduler may move from them. Under every policy
// the result is finished and certified in f64, so a policy changes the path but not the answer. The inherited
// PartFormats are the formats of the start, provided that the problem passes the entry gate.
struct NLSQ_API PrecisionPolicy : PartFormats {
  bool adaptive = true;    // false: every operation uses f64
  bool entry_gate = true;  // start small problems in f64 (thresholds.entry_work), and raise a 16-bit J to f32
                           // where 16 bits save nothing (thresholds.sixteen_bit_parameters)
  bool strict =
      false;  // evaluate every row again through the user's callable; after a rollback, a failed
              // factorization or a failed certificate also fit in f64 only, and return the lower cost

  // The narrowest formats that the scheduler may choose from its measurements. jacobian_floor also selects
  // which 16-bit format is used, f16 or bf16. The format of residuals is never lowered.
  Format jacobian_floor = Format::bf16;
  Format gram_floor = Format::f32;
  // The widest formats that the scheduler may choose while steps are still accepted below them. The final
  // steps and the certificate ignore the ceiling.
  PartFormats ceiling{Format::f64, Format::f64, Format::f64, Format::f64};

  Thresholds thresholds;
  std::vector<ComponentFormats> components;  // for problems with named components; other problems reject it
  std::vector<PrecisionRule> rules;  // checked at each iteration before the scheduler's own tests; the first
                                     // that holds applies

  static PrecisionPolicy all_f64();

  // Parses an alias, component formats, or both, followed by rules:
  //
  //   auto | f64 | f32 | bf16 | strict | ...                      (policy_aliases(); the default is auto)
  //   custom{compute=bf16,reduction=f32}                          (by operation, or kind of operations)
  //   residual=f32,jacobian=bf16,gram=f32,solve=f64,gate=off      (unnamed parts adjust, see changed())
  //   imu.residual=f64                                            (of one component)
  //   p=f64,c=bf16,o=f64                                          (parameters, compute, output)
  //   floor.jacobian=f32, ceiling.gram=f32, threshold.epsilon_j=0.05
  //   auto,gram=f32; condition > 1e6 -> gram=f64; nonfinite > 0 -> residual=f64
  //
  // Throws ValidationError listing every violation.
  static PrecisionPolicy parse(std::string_view text);
  // Returns a text that parses back to this policy: its alias, or else the shortest combination of an alias
  // and differences from it.
  std::string to_string() const;

  // Returns every rule that this policy breaks; empty if it is valid.
  std::vector<Violation> validate() const;
  // Returns the same violations as sentences.
  std::vector<std::string> violations() const;
  // Returns one violation for each component of the policy that `names` does not contain.
  std::vector<Violation> unknown_components(std::span<const std::string> names) const;

  // Returns the formats that a component starts in. A component without its own formats uses the policy's.
  PartFormats formats_of(std::string_view component) const;

  // Returns the format that an operation starts in. For a kind of operations, it is the narrowest of their
  // formats.
  Format precision_for(Operation operation) const noexcept;
  Format precision_for(OperationKind kind) const noexcept;

  bool operator==(const PrecisionPolicy&) const = default;
};

}  // namespace nlsq::inline v0
