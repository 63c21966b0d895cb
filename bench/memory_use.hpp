// How much memory a piece of work takes, as the system counts it.
#pragma once

#include <functional>

namespace bench {

// Bytes of the process's largest resident size during `work` beyond that before it. NaN where the system does
// not tell (the count is reset through /proc/self/clear_refs).
double memory_beyond(const std::function<void()>& work);

// Bytes of this process's largest resident size, since memory_beyond() was called last. NaN where the system
// does not tell. (Not getrusage's: that remembers the process that started this one.)
double peak_memory();

// Bytes that could still be taken without swapping.
double available_memory();

}  // namespace bench
