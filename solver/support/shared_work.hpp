// SharedWork distributes work on many items, such as the fits of a batch, among the processes of a team, and
// stores the results in a journal.
#pragma once

#include <nlsq/options.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace nlsq::inline v0 {

class SharedWork {
 public:
  // Uses the team and the journal of these options.
  explicit SharedWork(const Parallelism& options) : team_(options.team), journal_(options.journal) {}

  // Returns true if there is neither a team nor a journal. Then the caller does the work itself.
  bool alone() const { return size() < 2 && !journal_; }

  // Holds the results of items: bytes, which are joined in the order of the items, and a number, which is
  // added up.
  struct Results {
    std::uint64_t number = 0;
    std::string bytes;
    bool complete = true;  // false if the work was stopped, here or in another process; then it is not stored
  };
  using Compute = std::function<Results(std::size_t first, std::size_t last)>;

  // Returns the results of `count` items in every process: from the journal, or each process computes those
  // of a range, and they exchange them. Ranges begin at multiples of `unit`, and none has fewer items unless
  // there are fewer in all. So a result that depends on neighbouring items does not depend on the number of
  // processes. `request` identifies what is computed. As with the passes of one fit, the first results are
  // computed again and compared with those in the journal, because the model or an option may have changed:
  // throws JournalError if they differ.
  Results run(std::uint64_t request, std::size_t count, std::size_t unit, const Compute& compute);

  // Returns the items that run() computes in this process: [first, last).
  std::pair<std::size_t, std::size_t> own_range(std::size_t count, std::size_t unit) const;
  bool divided() const { return size() > 1; }
  // Waits for the other processes. This is needed because a process may wait for rows from another one, which
  // sends them while it waits here.
  void meet() const;

  // Calls block(first, last) for blocks of [0, count). A single process without a journal has one block.
  // Otherwise a block has about `most` items, and begins at a multiple of `unit`. So no more than these are
  // lost if the process is killed, and the processes soon notice that one was interrupted.
  void in_blocks(std::size_t count, std::size_t most, std::size_t unit,
                 const std::function<void(std::size_t first, std::size_t last)>& block) const;

 private:
  std::size_t size() const;
  Results compute_in_team(std::size_t count, std::size_t unit, const Compute& compute);

  std::shared_ptr<Team> team_;
  std::shared_ptr<Journal> journal_;
};

// Takes a record from a journal in all processes of a team. Only the first process has the file. `team` is
// null for a single process.
std::optional<std::string> recall_in_team(Journal& journal, Team* team, std::size_t number,
                                          std::uint64_t request);

}  // namespace nlsq::inline v0
