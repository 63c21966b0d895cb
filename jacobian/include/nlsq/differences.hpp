// Declares the choice between two kinds of finite differences. Fits of callables that only accept double use
// it.
#pragma once

namespace nlsq::inline v0 {

// The ways to compute derivatives of a callable that only accepts double.
enum class Differences : unsigned char {
  central,  // two calls per parameter; errors about (machine epsilon)^(2/3) of f/p
  ridders,  // about ten calls per parameter, extrapolated
};

}  // namespace nlsq::inline v0
