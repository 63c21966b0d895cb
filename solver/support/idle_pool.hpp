// IdlePool holds objects that tasks use one at a time. A later task reuses the object of an earlier one, so
// there is one object for each thread, not one for each task.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

template <class T>
class IdlePool {
 public:
  // `make` makes another object. Tasks may call it at the same time.
  explicit IdlePool(std::function<std::unique_ptr<T>()> make) : make_(std::move(make)) {}

  std::unique_ptr<T> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<T> object = std::move(idle_.back());
        idle_.pop_back();
        return object;
      }
    }
    return make_();
  }
  void give(std::unique_ptr<T> object) noexcept try {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(object));
  } catch (...) {  // There is no memory for the list, so the object is freed.
  }

  // Takes an object and gives it back in its destructor.
  class Loan {
   public:
    explicit Loan(IdlePool& pool) : pool_(pool), object_(pool.take()) {}
    ~Loan() { pool_.give(std::move(object_)); }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    T& operator*() const { return *object_; }
    T* operator->() const { return object_.get(); }

   private:
    IdlePool& pool_;
    std::unique_ptr<T> object_;
  };

  // Returns all objects. No task may be running.
  const std::vector<std::unique_ptr<T>>& all() const { return idle_; }
  void clear() { idle_.clear(); }

 private:
  const std::function<std::unique_ptr<T>()> make_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> idle_;
};

}  // namespace nlsq::inline v0
