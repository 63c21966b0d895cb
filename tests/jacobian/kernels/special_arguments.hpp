// Lists arguments at which vector functions are compared with those of the C library.
#pragma once

#include <nlsq/op.hpp>
#include <nlsq/special_functions.hpp>
#include "kernels/kernel_table.hpp"

#include <kernel_harness.hpp>

#include <limits>
#include <vector>

namespace elementary {

using nlsq::KernelTable;
using nlsq::Op;

using Wide = long double;

template <class T>
std::vector<T> special_arguments() {
  using L = std::numeric_limits<T>;
  return {T(0),
          T(-0.0),
          L::infinity(),
          -L::infinity(),
          L::quiet_NaN(),
          T(1),
          T(-1),
          L::denorm_min(),
          -L::denorm_min(),
          L::min(),
          -L::min(),
          L::max(),
          -L::max(),
          T(0.5),
          T(-0.5),
          T(2),
          T(-2),
          T(3),
          T(-3),
          T(1e10),
          T(-1e10),
          T(1e30),
          T(-1e30),
          T(1e-20),
          T(16777217),
          T(9007199254740993.0),
          T(-9007199254740993.0)};
}

}  // namespace elementary
