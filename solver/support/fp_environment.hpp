// FpEnvironment sets the floating-point environment for the duration of a call to round to nearest, no flush
// to zero, no traps. Its destructor restores the caller's environment. Public functions use it.
#pragma once

#include <cfenv>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace nlsq::inline v0 {

class FpEnvironment {
 public:
  FpEnvironment() {
    std::feholdexcept(&saved_);
    std::fesetround(FE_TONEAREST);
#if defined(__x86_64__)
    mxcsr_ = _mm_getcsr();
    _mm_setcsr(0x1f80);  // all exceptions masked, nearest, neither FTZ nor DAZ
#elif defined(__aarch64__)
    asm volatile("mrs %0, fpcr" : "=r"(fpcr_));
    asm volatile("msr fpcr, %0" ::"r"(0ULL));
#endif
  }
  ~FpEnvironment() {
#if defined(__x86_64__)
    _mm_setcsr(mxcsr_);
#elif defined(__aarch64__)
    asm volatile("msr fpcr, %0" ::"r"(fpcr_));
#endif
    std::fesetenv(&saved_);
  }
  FpEnvironment(const FpEnvironment&) = delete;
  FpEnvironment& operator=(const FpEnvironment&) = delete;

 private:
  std::fenv_t saved_;
#if defined(__x86_64__)
  unsigned mxcsr_ = 0;
#elif defined(__aarch64__)
  unsigned long long fpcr_ = 0;
#endif
};

}  // namespace nlsq::inline v0
