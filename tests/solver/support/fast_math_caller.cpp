// Calls the library from code compiled with -ffast-math (see CMakeLists.txt).
#include <caller.hpp>

#ifndef __FAST_MATH__
#error "this file is to be compiled with -ffast-math"
#endif

namespace caller {

std::vector<double> all_numbers_with_fast_math(const Data& d) { return all_numbers(d); }

}  // namespace caller
