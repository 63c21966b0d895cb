// Defines the residual x - number, the smallest cost functor of the tests of nlsq::Solve.
#pragma once

struct Minus {
  double number;
  template <class T>
  bool operator()(const T* x, T* r) const {
    r[0] = x[0] - number;
    return true;
  }
};
