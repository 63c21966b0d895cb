// Implements run_tbb_pipeline(). It is separate from csv_pipeline.cpp because ThreadSanitizer cannot see
// inside oneTBB's library. This file is compiled without the sanitizer (CMakeLists.txt) and declares to it
// the ordering that oneTBB guarantees (see solver/support/tbb_tasks.cpp).
#include "table/csv/tbb_pipeline.hpp"

#if NLSQ_WITH_TBB

#include <tbb/info.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <algorithm>

#if NLSQ_THREAD_SANITIZER
extern "C" void __tsan_acquire(void* place);
extern "C" void __tsan_release(void* place);
#endif

namespace nlsq::cli {

namespace {

// Memory written before leave(place) is visible after a later enter(place).
#if NLSQ_THREAD_SANITIZER
void leave(void* place) { __tsan_release(place); }
void enter(void* place) { __tsan_acquire(place); }
#else
void leave(void*) {}
void enter(void*) {}
#endif

}  // namespace

int tbb_threads(int threads) {
  const int most = tbb::info::default_concurrency();
  return threads == 0 ? most : std::min(threads, most);
}

void run_tbb_pipeline(int threads, std::size_t items, const Stages& stages) {
  char first_place = 0, last_place = 0;  // of the two serial stages
  char begin = 0, end = 0;               // of the whole pipeline
  struct Leave {
    void* place;
    ~Leave() { leave(place); }
  };
  struct Enter {
    void* place;
    ~Enter() { enter(place); }
  };
  const auto first = [&](tbb::flow_control& flow) -> void* {
    const Leave at_end{&end}, at_next{&first_place};
    enter(&begin);
    enter(&first_place);
    void* const item = stages.first();
    if (item) leave(item);
    else flow.stop();
    return item;
  };
  const auto middle = [&](void* item) {
    const Leave at_end{&end}, at_next{item};
    enter(&begin);
    enter(item);
    stages.middle(item);
    return item;
  };
  const auto last = [&](void* item) {
    const Leave at_end{&end}, at_next{&last_place};
    enter(&begin);
    enter(&last_place);
    enter(item);
    stages.last(item);
  };
  constexpr auto kInOrder = tbb::filter_mode::serial_in_order;
  const Enter after{&end};
  leave(&begin);
  tbb::task_arena arena(threads);
  arena.execute([&] {
    tbb::parallel_pipeline(items, tbb::make_filter<void, void*>(kInOrder, first) &
                                      tbb::make_filter<void*, void*>(tbb::filter_mode::parallel, middle) &
                                      tbb::make_filter<void*, void>(kInOrder, last));
  });
}

}  // namespace nlsq::cli

#endif
