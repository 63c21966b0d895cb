// FlushTiny makes numbers below the smallest normal one (1.2e-38 in float32, 2.2e-308 in float64) zero while
// it lives, as operands and as results. An Intel CPU takes 40 to 60 ns for an instruction with such a number
// in any lane, in place of a quarter of one, and the tails of peaks are full of them.
//
// Only sums of products over all rows are formed under it. Values of a model are not, because a later
// operation may make a subnormal number large. The user's code never runs under it. If sums of squares of a
// float64 pass are themselves tiny, the pass is repeated without flushing.
#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace nlsq::inline v0 {

class FlushTiny {
 public:
#if defined(__x86_64__)
  // Does nothing if `wanted` is false.
  explicit FlushTiny(bool wanted) : before_(_mm_getcsr()) {
    constexpr unsigned kResults = 0x8000, kOperands = 0x0040;
    if (wanted) _mm_setcsr(before_ | kResults | kOperands);
  }
  ~FlushTiny() { _mm_setcsr(before_); }
#else
  explicit FlushTiny(bool) {}  // other CPUs are not known to be slow with such numbers
  ~FlushTiny() {}
#endif
  FlushTiny(const FlushTiny&) = delete;
  FlushTiny& operator=(const FlushTiny&) = delete;

 private:
#if defined(__x86_64__)
  unsigned before_;
#endif
};

}  // namespace nlsq::inline v0
