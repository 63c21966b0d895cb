// Lists the features that each kernel set needs of an x86 CPU. A program checks them when it starts, and
// CMake checks them if NLSQ_KERNELS=native.
#pragma once

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

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
// Reads AMX_BF16 and AMX_TILE from leaf 7 of cpuid. Not every compiler's __builtin_cpu_supports knows them.
inline bool cpu_has_amx_bf16() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d >> 22 & 1) != 0 && (d >> 24 & 1) != 0;
}
// Returns true if Linux can save tile registers.
inline bool system_has_tiles() {
#if defined(__linux__)
  constexpr long kGetSupported = 0x1021;  // ARCH_GET_XCOMP_SUPP
  unsigned long features = 0;
  return syscall(SYS_arch_prctl, kGetSupported, &features) == 0 && (features >> 18 & 1) != 0;
#else
  return false;
#endif
}
// Asks Linux for the permission to use tile registers, whose 8 KB it saves for each thread that uses them.
// Returns false if it refuses, as it does where the stack of a signal handler would be too small. Afterwards
// it refuses stacks of signal handlers below some 11 KB.
inline bool may_use_tiles() {
#if defined(__linux__)
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

}  // namespace nlsq::inline v0
#endif
