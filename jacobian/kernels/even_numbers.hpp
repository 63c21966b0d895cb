// Defines a list of numbers for block problems and their kernels. Evenly spaced numbers, such as the offsets
// of blocks of one kind, are kept as a first number and a step. A problem may have millions of blocks, so
// this saves memory.
#pragma once

#include "kernels/inline.hpp"

#include <cstddef>
#include <vector>

namespace nlsq::inline v0 {

// Holds the list as kernels read it. Number i is table[i] if there is a table, and first + i * step
// otherwise.
template <class T>
struct EvenView {
  const T* table = nullptr;
  T first = 0, step = 0;

  EvenView() = default;
  NLSQ_INLINE EvenView(const T* numbers) : table(numbers) {}  // NOLINT: an array is also such a list
  NLSQ_INLINE EvenView(const T* numbers, T from, T by) : table(numbers), first(from), step(by) {}
  NLSQ_INLINE T operator[](std::size_t i) const {
    return table ? table[i] : static_cast<T>(first + static_cast<T>(i) * step);
  }
};

// This is a list that owns its numbers. T is an unsigned integer, so that every two numbers have a
// difference.
template <class T>
class EvenNumbers {
 public:
  EvenNumbers() = default;

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T operator[](std::size_t i) const { return view()[i]; }
  T back() const { return (*this)[size_ - 1]; }
  EvenView<T> view() const { return {table_.empty() ? nullptr : table_.data(), first_, step_}; }
  std::size_t bytes() const { return table_.capacity() * sizeof(T); }

  void push_back(T number) {
    if (table_.empty()) {
      if (size_ == 0) first_ = number;
      if (size_ == 1) step_ = static_cast<T>(number - first_);
      if (number != (*this)[size_]) make_table();
    }
    if (!table_.empty()) table_.push_back(number);
    ++size_;
  }
  void set(std::size_t i, T number) {
    if ((*this)[i] == number) return;
    if (table_.empty()) make_table();
    table_[i] = number;
  }

 private:
  void make_table() {
    const EvenView<T> even(nullptr, first_, step_);
    table_.reserve(size_ + 1);
    for (std::size_t i = 0; i < size_; ++i) table_.push_back(even[i]);
  }

  std::vector<T> table_;  // empty if the numbers are evenly spaced
  std::size_t size_ = 0;
  T first_ = 0, step_ = 0;
};

}  // namespace nlsq::inline v0
