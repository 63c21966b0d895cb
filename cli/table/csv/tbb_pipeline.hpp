// Runs a pipeline of three stages on oneTBB's threads. Tables are read and texts are written by it.
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

// Returns how many threads a pipeline gets that wants `threads`: no more than oneTBB has for this process,
// and all of them if `threads` is 0.
int tbb_threads(int threads);

}  // namespace nlsq::cli
