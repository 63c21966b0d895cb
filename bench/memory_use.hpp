// Measures the memory of a task from the system's counts. Several suites use it.
#pragma once

#include <functional>

namespace bench {

// Returns the peak resident size of the process during `work`, minus the size before it, in bytes. Returns
// NaN if the system does not report it (the peak is reset through /proc/self/clear_refs).
double memory_beyond(const std::function<void()>& work);

// Returns the peak resident size of this process in bytes, since the last memory_beyond(), or NaN if the
// system does not report it. (getrusage is not used, because it includes the process that started this one.)
double peak_memory();

// Returns the bytes that are available without swapping.
double available_memory();

}  // namespace bench
