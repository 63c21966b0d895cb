// Reads the memory of the process from /proc.
#include "memory_use.hpp"

#include <fstream>
#include <limits>
#include <string>
#include <string_view>

#if __has_include(<malloc.h>)
#include <malloc.h>
#endif

namespace bench {

namespace {

// Returns the value of the line "NAME:   12345 kB" in a file of /proc, in bytes, or NaN if there is none.
double kilobytes(const char* file, std::string_view name) {
  std::ifstream stream(file);
  for (std::string word; stream >> word;) {
    double value = 0;
    if (word == name && stream >> value) return 1024 * value;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

double memory_beyond(const std::function<void()>& work) {
#if defined(__GLIBC__)
  malloc_trim(0);  // returns freed memory, so that it is not reused uncounted
#endif
  std::ofstream reset("/proc/self/clear_refs");
  const bool can_reset = static_cast<bool>((reset << "5").flush());
  const double before = kilobytes("/proc/self/status", "VmRSS:");
  work();
  return can_reset ? kilobytes("/proc/self/status", "VmHWM:") - before
                   : std::numeric_limits<double>::quiet_NaN();
}

double peak_memory() { return kilobytes("/proc/self/status", "VmHWM:"); }

double available_memory() { return kilobytes("/proc/meminfo", "MemAvailable:"); }

}  // namespace bench
