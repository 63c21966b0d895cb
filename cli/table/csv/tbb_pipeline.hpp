// A pipeline of three stages on oneTBB's threads.
#pragma once

#include <cstddef>
#include <functional>

namespace nlsq::cli {

// first() makes an item, or null where there are no more; middle(item) for several items at once; last(item).
// first and last see the items one by one, in order. At most so many items are on their way, and threads at
// work.
struct Stages {
  std::function<void*()> first;
  std::function<void(void*)> middle, last;
};
void run_tbb_pipeline(int threads, std::size_t items, const Stages& stages);

// Threads oneTBB has for this process.
int tbb_threads();

}  // namespace nlsq::cli
