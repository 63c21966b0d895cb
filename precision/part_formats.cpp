// Validation and changes of the formats of a solve's four parts.
#include <nlsq/part_formats.hpp>

#include "policy_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace nlsq::inline v0 {

namespace {

bool sixteen_bits(Format f) { return info(f).bytes == 2; }
bool sums_in(Format f) { return f == Format::f32 || f == Format::f64; }

// Returns the gram format that represents the products exactly: f32 for two 16-bit numbers, f64 for two f32.
Format gram_for(Format jacobian) { return sixteen_bits(jacobian) ? Format::f32 : Format::f64; }

bool go_together(Format jacobian, Format gram) {
  return gram == gram_for(jacobian) || (jacobian == Format::f32 && gram == Format::f32);
}

}  // namespace

PartFormats changed(const PartFormats& from, const FormatChange& change) noexcept {
  PartFormats to = from;
  to.residual = change.residual.value_or(from.residual);
  to.solve = change.solve.value_or(from.solve);
  if (change.jacobian) {
    to.jacobian = *change.jacobian;
    if (!change.residual) to.residual = std::max(to.residual, to.jacobian);
  } else if (to.residual != from.residual) {
    to.jacobian = to.residual;
  } else if (change.gram && !go_together(to.jacobian, *change.gram)) {
    to.jacobian = Format::f32;
  }
  if (change.gram) to.gram = *change.gram;
  else if (to.jacobian != from.jacobian) to.gram = gram_for(to.jacobian);
  return to;
}

std::vector<Violation> validate(const PartFormats& f, const std::string& prefix) {
  std::vector<Violation> found;
  const auto refuse = [&](const char* part, Format format, std::string reason) {
    found.push_back({prefix + part, name(format), std::move(reason)});
  };
  if (!sums_in(f.residual)) {
    refuse(
        "residual", f.residual,
        fmt::format(
            "rows are evaluated and summed in f32 or f64, {} is below what sums can bear; jacobian={} rounds "
            "what the Gram matrix is made of",
            name(f.residual), name(f.residual)));
  }
  if (!sums_in(f.gram)) {
    refuse(
        "gram", f.gram,
        fmt::format(
            "sums of a Gram matrix in {} lose its positive definiteness, they are below what sums can bear; "
            "use jacobian={},gram=f32 to multiply {} and add up f32",
            name(f.gram), name(f.gram), name(f.gram)));
  }
  if (f.solve != Format::f64) {
    refuse("solve", f.solve,
           "the factorisation is always f64: beside the rows it costs nothing; use solve=f64");
  }
  if (sums_in(f.residual) && f.jacobian > f.residual) {
    refuse("jacobian", f.jacobian,
           fmt::format(
               "wider than residual={}, whose rows the derivatives come from; use residual={} or jacobian={}",
               name(f.residual), name(f.jacobian), name(f.residual)));
  } else if (sums_in(f.gram) && !go_together(f.jacobian, f.gram)) {
    if (f.gram > gram_for(f.jacobian)) {
      refuse(
          "gram", f.gram,
          fmt::format(
              "wider than its jacobian={}, whose products f32 holds exactly; use gram=f32, or jacobian=f32",
              name(f.jacobian)));
    } else {
      refuse("gram", f.gram, "f64 derivatives would be thrown away; use jacobian=f32 or gram=f64");
    }
  }
  return found;
}

std::string to_string(const FormatChange& change) { return to_string(change, ""); }

}  // namespace nlsq::inline v0
