// The choice between two kinds of finite differences.
#pragma once

namespace nlsq::inline v0 {

// How derivatives of a callable that takes double alone are found.
enum class Differences : unsigned char {
  central,  // two calls a parameter; errors about (machine epsilon)^(2/3) of f/p
  ridders,  // some ten calls a parameter, extrapolated
};

}  // namespace nlsq::inline v0
