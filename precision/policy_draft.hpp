// A policy while it is parsed: a base policy and the changes that the text names. policy_parse.cpp fills it.
#pragma once

#include <nlsq/precision_policy.hpp>

namespace nlsq::inline v0 {

struct PolicyDraft {
  PrecisionPolicy base;
  FormatChange formats;
  FormatChange floor;  // only jacobian and gram
  FormatChange ceiling;

  // Returns the base with the named parts set and the other parts adjusted to them.
  PrecisionPolicy policy() const;
};

}  // namespace nlsq::inline v0
