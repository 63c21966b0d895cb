// Declares the formats of the four parts of a solve, and partial changes to them. Precision policies and
// rules use both.
#pragma once

#include <nlsq/error.hpp>
#include <nlsq/export.hpp>
#include <nlsq/format.hpp>

#include <optional>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

// Allowed combinations: residual is f32 or f64; jacobian is no wider than residual; gram is f32 for a 16-bit
// jacobian, f32 or f64 for an f32 jacobian, and f64 for an f64 jacobian; solve is f64.
struct PartFormats {
  Format residual = Format::f32;  // format in which rows are evaluated: residuals and derivatives
  Format jacobian = Format::f32;  // format to which derivatives are rounded for the Gram products
  Format gram = Format::f64;      // sums of JᵀJ within a tile of rows; the tiles are always summed in f64
  Format solve = Format::f64;     // factorization and step
  bool operator==(const PartFormats&) const = default;
};

// New formats for some parts. The other parts change as changed() describes.
struct FormatChange {
  std::optional<Format> residual, jacobian, gram, solve;
  bool empty() const noexcept { return !residual && !jacobian && !gram && !solve; }
  bool operator==(const FormatChange&) const = default;
};

// Returns `from` with the change applied. The parts that the change does not name adjust, so that a valid
// change of valid formats stays valid. A new residual also changes the jacobian. A wider jacobian also widens
// the residual. A new jacobian also changes the gram (f32 sums for 16 bits, f64 sums otherwise). A new gram
// changes the jacobian if the two are not allowed together.
NLSQ_API PartFormats changed(const PartFormats& from, const FormatChange& change) noexcept;

// Returns every rule that the formats break; empty if they are valid. `prefix` ("imu.") precedes each part's
// name.
NLSQ_API std::vector<Violation> validate(const PartFormats& formats, const std::string& prefix = {});

// Returns a text such as "residual=f32,gram=f64", with only the parts that the change names.
NLSQ_API std::string to_string(const FormatChange& change);

}  // namespace nlsq::inline v0
