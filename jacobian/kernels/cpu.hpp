// Lists the features that each kernel set needs of an x86 CPU. A program checks them when it starts, and
// CMake checks them if NLSQ_KERNELS=native.
#pragma once

#if defined(__x86_64__)
namespace nlsq::inline v0 {

inline bool cpu_runs_avx2() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2");
}
inline bool cpu_runs_avx512() {
  return cpu_runs_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}

}  // namespace nlsq::inline v0
#endif
