// How much memory a piece of work takes, as the system counts it.
#pragma once

#include <functional>

namespace bench {

// Bytes of the process's largest resident size during `work` beyond that before it. NaN where the system does not
// tell (the count is reset through /proc/self/clear_refs).
double memory_beyond(const std::function<void()>& work);

// Bytes that could still be taken without swapping.
double available_memory();

}  // namespace bench
