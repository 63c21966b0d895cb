// A policy as a text gives it: a base, and what is named beside it.
#pragma once

#include <nlsq/precision_policy.hpp>

namespace nlsq::inline v0 {

struct PolicyDraft {
  PrecisionPolicy base;
  FormatChange formats;
  FormatChange floor;  // jacobian and gram
  FormatChange ceiling;

  // The base with what is named set, and what is not named following it.
  PrecisionPolicy policy() const;
};

}  // namespace nlsq::inline v0
