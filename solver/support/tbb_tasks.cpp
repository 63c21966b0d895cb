// Runs tasks on oneTBB's threads. It is separate from parallel.cpp for the thread sanitizer, which cannot see
// the synchronization inside oneTBB's library and would report a race between every task and its creator. So
// this file is compiled without the sanitizer (CMakeLists.txt) and declares to it what oneTBB guarantees:
// tasks see all writes before parallel_for, and the code after it sees the tasks' writes. Races between tasks
// are still reported.
#include "support/parallel.hpp"

#include "support/idle_pool.hpp"

#if NLSQ_WITH_TBB

#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

#if NLSQ_THREAD_SANITIZER
extern "C" void __tsan_acquire(void* place);
extern "C" void __tsan_release(void* place);
#endif

namespace nlsq::inline v0 {

namespace {

// This is a one-way gate: a thread that enters sees all writes of those that have left.
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

// Returns the arenas with this number of threads that no call uses now. A solve runs tasks hundreds of times.
// A new arena for each of them would take time, and oneTBB frees an arena only when its threads have left it:
// on a busy machine, megabytes of arenas would accumulate. The pools are never destroyed: at the end of the
// process oneTBB may already be gone.
IdlePool<tbb::task_arena>& idle_arenas(int threads) {
  static auto* const pools = new std::map<int, IdlePool<tbb::task_arena>>;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const auto make = [threads] { return std::make_unique<tbb::task_arena>(threads); };
  return pools->try_emplace(threads, make).first->second;
}

}  // namespace

// More threads than the machine has gain nothing, and oneTBB would print a warning.
int threads_of_tbb(int limit) {
  const int most = tbb::info::default_concurrency();
  return limit == 0 ? most : std::min(limit, most);
}

void run_on_tbb(std::size_t count, int threads, const std::function<void(std::size_t)>& task) {
  const IdlePool<tbb::task_arena>::Loan arena(idle_arenas(threads_of_tbb(threads)));
  Gate begin, end;
  begin.leave();
  arena->execute([&] {
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
