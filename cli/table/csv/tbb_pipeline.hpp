// Runs a pipeline of three stages on oneTBB's threads. csv_pipeline.cpp uses it.
#pragma once

#include <cstddef>
#include <functional>

namespace nlsq::cli {

// first() makes an item, or returns null at the end. middle(item) runs on several items in parallel. first
// and last process items one by one, in order. At most `items` items are in the pipeline, on at most
// `threads` threads.
struct Stages {
  std::function<void*()> first;
  std::function<void(void*)> middle, last;
};
void run_tbb_pipeline(int threads, std::size_t items, const Stages& stages);

// The number of threads that oneTBB has for this process.
int tbb_threads();

}  // namespace nlsq::cli
