// Runs tasks on oneTBB's threads. It is separate from parallel.cpp for the thread sanitizer, which cannot see
// the synchronization inside oneTBB's library and would report a race between every task and its creator. So
// this file is compiled without the sanitizer (CMakeLists.txt) and declares to it what oneTBB guarantees:
// tasks see all writes before parallel_for, and the code after it sees the tasks' writes. Races between tasks
// are still reported.
#include "support/parallel.hpp"

#if NLSQ_WITH_TBB

#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#if NLSQ_THREAD_SANITIZER
extern "C" void __tsan_acquire(void* place);
extern "C" void __tsan_release(void* place);
#endif

namespace nlsq::inline v0 {

namespace {

// A one-way gate: a thread that enters sees all writes of those that have left.
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

// The arenas that no call uses now. A solve runs tasks hundreds of times. A new arena for each of them would
// take time, and oneTBB frees an arena only when its threads have left it: on a busy machine, megabytes of
// arenas would accumulate.
class IdleArenas {
 public:
  // An arena that belongs to one call until this object ends.
  class Loan {
   public:
    Loan(IdleArenas& from, int threads) : from_(from), arena_(from.take(threads)) {}
    ~Loan() { from_.give(std::move(arena_)); }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    tbb::task_arena& arena() const { return *arena_; }

   private:
    IdleArenas& from_;
    std::unique_ptr<tbb::task_arena> arena_;
  };

 private:
  std::unique_ptr<tbb::task_arena> take(int threads) {
    const std::lock_guard lock(mutex_);
    const auto fits = [&](const auto& arena) { return arena->max_concurrency() == threads; };
    const auto found = std::ranges::find_if(idle_, fits);
    if (found == idle_.end()) return std::make_unique<tbb::task_arena>(threads);
    std::unique_ptr<tbb::task_arena> arena = std::move(*found);
    idle_.erase(found);
    return arena;
  }
  void give(std::unique_ptr<tbb::task_arena> arena) noexcept try {
    const std::lock_guard lock(mutex_);
    if (idle_.size() < kMost) idle_.push_back(std::move(arena));
  } catch (...) {  // there is no memory for the list, so the arena ends
  }

  static constexpr std::size_t kMost = 16;
  std::mutex mutex_;
  std::vector<std::unique_ptr<tbb::task_arena>> idle_;
};

// Returns the arenas, which are never destroyed: at the end of the process oneTBB may already be gone.
IdleArenas& idle_arenas() {
  static IdleArenas* const arenas = new IdleArenas;
  return *arenas;
}

}  // namespace

// More threads than the machine has gain nothing, and oneTBB would print a warning.
int threads_of_tbb(int limit) {
  const int most = tbb::info::default_concurrency();
  return limit == 0 ? most : std::min(limit, most);
}

void run_on_tbb(std::size_t count, int threads, const std::function<void(std::size_t)>& task) {
  const IdleArenas::Loan loan(idle_arenas(), threads_of_tbb(threads));
  Gate begin, end;
  begin.leave();
  loan.arena().execute([&] {
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
