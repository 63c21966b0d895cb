// Tasks on oneTBB's threads. Apart from parallel.cpp for the thread sanitizer: it does not see into oneTBB's
// library, where the handing over of tasks is synchronised, and would take every task for a race with its
// creator. So this file is compiled without it (CMakeLists.txt), and tells it what oneTBB guarantees: what
// comes before parallel_for is seen by every task, and what tasks do is seen after it. Races between tasks
// still show.
#include "support/parallel.hpp"

#if NLSQ_WITH_TBB

#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>

#if NLSQ_THREAD_SANITIZER
extern "C" void __tsan_acquire(void* place);
extern "C" void __tsan_release(void* place);
#endif

namespace nlsq::inline v0 {

namespace {

// One way through: releases made so far are acquired by those who come later.
struct Gate {
  char place = 0;
#if NLSQ_THREAD_SANITIZER
  void leave() { __tsan_release(&place); }
  void enter() { __tsan_acquire(&place); }
#else
  void leave() {}
  void enter() {}
#endif
};

}  // namespace

void run_on_tbb(std::size_t count, int threads, const std::function<void(std::size_t)>& task) {
  // More than the machine has would gain nothing, and oneTBB would print a warning about it.
  const int most = tbb::info::default_concurrency();
  tbb::task_arena arena(threads == 0 ? most : std::min(threads, most));
  Gate begin, end;
  begin.leave();
  arena.execute([&] {
    tbb::parallel_for(std::size_t{0}, count, [&](std::size_t i) {
      begin.enter();
      task(i);
      end.leave();
    });
  });
  end.enter();
}

}  // namespace nlsq::inline v0

#endif
