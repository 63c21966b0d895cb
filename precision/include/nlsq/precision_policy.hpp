// What precision each operation of a fit may use: the user's wish, as one value.
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

// Formats of one named component of a problem, where they differ from the others'.
struct ComponentFormats {
  std::string name;
  FormatChange change;  // of the policy's own
  bool operator==(const ComponentFormats&) const = default;
};

struct PrecisionPolicy;

// A name for a policy.
struct PolicyAlias {
  const char* name;
  const char* meaning;
  PrecisionPolicy (*make)();
};
// The one table of them, "auto" first.
NLSQ_API std::span<const PolicyAlias> policy_aliases() noexcept;

// How a fit starts and how far the scheduler may move it. Whatever the policy, the result is finished
// and certified in f64: a policy chooses the way, never the answer.
//
// The formats it inherits are those a fit starts in, once through the entry gate.
struct NLSQ_API PrecisionPolicy : PartFormats {
  bool adaptive = true;    // false: nothing but f64 is ever used
  bool entry_gate = true;  // small problems go straight to f64 (thresholds.entry_work), and J of 16 bits to
                           // f32 where it saves nothing (thresholds.sixteen_bit_parameters)
  bool strict =
      false;  // every row is re-evaluated through the user's callable; after a rollback, a failed
              // factorisation or a failed certificate an all-f64 run too, and the lower end is returned

  // How far the scheduler may go down by its own measurements. f32 and f64 are the lowest; a jacobian_floor
  // of 16 bits also says which 16 bits. Residuals never go down.
  Format jacobian_floor = Format::bf16;
  Format gram_floor = Format::f32;
  // How far up it may go while steps are to be had below. The finish and the certificate are above any
  // ceiling.
  PartFormats ceiling{Format::f64, Format::f64, Format::f64, Format::f64};

  Thresholds thresholds;
  std::vector<ComponentFormats> components;  // for problems of named components; others refuse them
  std::vector<PrecisionRule> rules;  // before the scheduler's own at each iteration; the first that holds

  static PrecisionPolicy all_f64();

  // An alias, components, or both, then rules:
  //
  //   auto | f64 | f32 | bf16 | strict | ...                      (policy_aliases(); the default is auto)
  //   custom{compute=bf16,reduction=f32}                          (by operation, or kind of operations)
  //   residual=f32,jacobian=bf16,gram=f32,solve=f64,gate=off      (what is not named follows, see changed())
  //   imu.residual=f64                                            (a component's)
  //   p=f64,c=bf16,o=f64                                          (parameters, compute, output)
  //   floor.jacobian=f32, ceiling.gram=f32, threshold.epsilon_j=0.05
  //   auto,gram=f32; condition > 1e6 -> gram=f64; nonfinite > 0 -> residual=f64
  //
  // Throws ValidationError listing every violation.
  static PrecisionPolicy parse(std::string_view text);
  // A text that parses back to this policy: its alias, or the shortest that an alias and differences from it
  // make.
  std::string to_string() const;

  // Every rule this policy breaks; empty when it is sound.
  std::vector<Violation> validate() const;
  // The same as sentences.
  std::vector<std::string> violations() const;
  // A violation for each component of the policy that is none of `names`.
  std::vector<Violation> unknown_components(std::span<const std::string> names) const;

  // The formats that a component starts in; those of the policy where it has none of its own.
  PartFormats formats_of(std::string_view component) const;

  // The format an operation starts in; of a kind, the narrowest of its operations.
  Format precision_for(Operation operation) const noexcept;
  Format precision_for(OperationKind kind) const noexcept;

  bool operator==(const PrecisionPolicy&) const = default;
};

}  // namespace nlsq::inline v0
