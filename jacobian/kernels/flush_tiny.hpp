// FlushTiny makes numbers below the smallest normal one (1.2e-38 in float32, 2.2e-308 in float64) zero while
// it lives, as operands and as results. An Intel CPU takes 40 to 60 ns for an instruction with such a number
// in any lane, in place of a quarter of one, and the tails of peaks are full of them.
//
// Only sums of products over all rows are formed under it. Values of a model are not, because a later
// operation may make a subnormal number large, and the user's code never runs under it. A pass in float64
// whose sums of squares are themselves tiny is repeated without it.
#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace nlsq::inline v0 {

// Says whether this thread may flush while this object lives. A thread may not unless an object says so.
class AllowFlush {
 public:
  explicit AllowFlush(bool allow) : before_(allowed()) { allowed() = allow; }
  ~AllowFlush() { allowed() = before_; }
  AllowFlush(const AllowFlush&) = delete;
  AllowFlush& operator=(const AllowFlush&) = delete;
  static bool& allowed() {
    thread_local bool allow = false;
    return allow;
  }

 private:
  bool before_;
};

class FlushTiny {
 public:
#if defined(__x86_64__)
  FlushTiny() : before_(_mm_getcsr()) {
    constexpr unsigned kResults = 0x8000, kOperands = 0x0040;
    if (AllowFlush::allowed()) _mm_setcsr(before_ | kResults | kOperands);
  }
  ~FlushTiny() { _mm_setcsr(before_); }
#else
  FlushTiny() = default;  // other CPUs are not known to be slow there
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
