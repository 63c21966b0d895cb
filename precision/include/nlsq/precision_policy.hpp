// What precision each operation of a fit may use: the user's wish, as one value.
#pragma once

#include <nlsq/export.hpp>
#include <nlsq/format.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace nlsq::inline v0 {

// How a fit starts and how far the scheduler may move it. Whatever the policy, the result is finished
// and certified in f64: a policy chooses the way, never the answer.
//
//   auto   f32 rows where their number repays it (the entry gate), f64 when the digits run out
//   f32    the same without the gate: every fit starts in f32
//   f64    every operation in f64 throughout
struct NLSQ_API PrecisionPolicy {
  Format residual = Format::f32;  // model, residuals, derivatives: the format rows are evaluated in at first
  Format gram = Format::f64;      // format the products of JᵀJ are summed in at first
  bool adaptive = true;           // false: nothing but f64 is ever used
  bool entry_gate = true;         // small problems go straight to f64

  static PrecisionPolicy all_f64() { return {Format::f64, Format::f64, false, true}; }

  // "auto", "f32", "f64", or components: "residual=f32,gram=f32", from `auto`. Components:
  // residual f32|f64, gram f32|f64, gate on|off. Throws ValidationError listing every violation.
  static PrecisionPolicy parse(std::string_view text);
  // The shortest text that parses back to this policy.
  std::string to_string() const;
  // Every rule this policy breaks, in words; empty when it is sound.
  std::vector<std::string> violations() const;

  bool operator==(const PrecisionPolicy&) const = default;
};

}  // namespace nlsq::inline v0
