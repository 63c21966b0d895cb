// The four parts of a solve whose format is chosen, and changes of them.
#pragma once

#include <nlsq/error.hpp>
#include <nlsq/export.hpp>
#include <nlsq/format.hpp>

#include <optional>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

// Allowed are: residual f32|f64; jacobian no wider than residual; gram f32 where jacobian has 16 bits, f32 or
// f64 where it is f32, f64 where it is f64; solve f64.
struct PartFormats {
  Format residual = Format::f32;  // what rows are evaluated in: model, residuals, derivatives
  Format jacobian = Format::f32;  // what the derivatives are rounded to for the Gram products
  Format gram = Format::f64;      // sums of JᵀJ within a tile; tiles are always added up in f64
  Format solve = Format::f64;     // factorisation and step
  bool operator==(const PartFormats&) const = default;
};

// New formats for some parts. The others follow: see changed().
struct FormatChange {
  std::optional<Format> residual, jacobian, gram, solve;
  bool empty() const noexcept { return !residual && !jacobian && !gram && !solve; }
  bool operator==(const FormatChange&) const = default;
};

// `from` with the change made. What is not named follows what is, so that a sound change of sound formats is
// sound: a new residual takes the jacobian with it, a wider jacobian the residual, a new jacobian the gram
// (f32 sums for 16 bits, f64 sums otherwise), a new gram the jacobian where the two do not go together.
NLSQ_API PartFormats changed(const PartFormats& from, const FormatChange& change) noexcept;

// Every rule that these formats break; empty where sound. `prefix` ("imu.") goes before each part's name.
NLSQ_API std::vector<Violation> validate(const PartFormats& formats, const std::string& prefix = {});

// "residual=f32,gram=f64": the parts that the change names.
NLSQ_API std::string to_string(const FormatChange& change);

}  // namespace nlsq::inline v0
