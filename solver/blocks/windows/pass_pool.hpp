// The buffers in which programs of residual blocks run. BlockModel lends them to its tasks. There are as many
// as tasks run at once: one for each thread, not one for each task.
#pragma once

#include "blocks/block_evaluator.hpp"

#include <memory>
#include <mutex>
#include <vector>

namespace nlsq::inline v0 {

class PassPool {
 public:
  // A pass that belongs to one task until this object ends.
  class Loan {
   public:
    explicit Loan(PassPool& pool, const BlockEvaluator& evaluator)
        : pool_(pool), pass_(pool.take(evaluator)) {}
    ~Loan() { pool_.give(pass_); }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    BlockPass& pass() const { return *pass_; }

   private:
    PassPool& pool_;
    BlockPass* pass_;
  };

  // All passes, with their counters and samples. No loan may be open.
  const std::vector<std::unique_ptr<BlockPass>>& all() const { return all_; }
  void clear() {
    idle_.clear();
    all_.clear();
  }

 private:
  BlockPass* take(const BlockEvaluator& evaluator) {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        BlockPass* pass = idle_.back();
        idle_.pop_back();
        return pass;
      }
    }
    std::unique_ptr<BlockPass> made = evaluator.begin();
    const std::lock_guard lock(mutex_);
    idle_.reserve(all_.size() + 1);  // so that give() cannot fail
    all_.push_back(std::move(made));
    return all_.back().get();
  }
  void give(BlockPass* pass) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(pass);
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<BlockPass>> all_;
  std::vector<BlockPass*> idle_;
};

}  // namespace nlsq::inline v0
