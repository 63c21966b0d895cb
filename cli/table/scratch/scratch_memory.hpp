// Memory for the columns of tables that are larger than the machine's memory.
//
// Columns are ordinary memory until they reach a limit (--memory). Those beyond it lie in files without a
// name in a folder (--scratch), which are mapped: the system keeps in memory what is in use, and the rest on
// disk. All code sees plain arrays, so a fit gives the same bits. The disk space is reserved before a column
// is written, so that a full disk is an error with a message. The files vanish with the process, however it
// ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace nlsq::cli {

// Returns the bytes that the machine's memory and the limits of the process's control groups allow.
std::uint64_t memory_allowed();
// Returns the smallest limit of memory of the control groups that `groups` lists, as /proc/self/cgroup does,
// and of the groups that contain them. `root` is the folder of the groups' files, /sys/fs/cgroup. Without
// limits the result is the largest number.
std::uint64_t group_limit(const std::string& groups, const std::string& root);

// Must be called once, before the work begins. `memory` is the limit in bytes. An empty `folder` means that
// of TMPDIR, or /tmp.
void choose_scratch(std::uint64_t memory, std::string folder);

// Returns true if the system's file cache has room for a file of this size.
bool cache_holds(std::uint64_t bytes);
// Returns whether the process should give back the pages of a mapped file of this size as it goes on. The
// pages may stay in the system's file cache, which is not counted as memory of the process.
bool beyond_memory(std::uint64_t bytes);

// Returns the bytes of columns that are in files now.
std::uint64_t bytes_in_scratch() noexcept;
const std::string& scratch_folder() noexcept;

void* allocate_column(std::size_t bytes);  // throws BadData if the disk is full, std::bad_alloc
void free_column(void* memory, std::size_t bytes) noexcept;

template <class T>
struct ScratchAllocator {
  using value_type = T;
  ScratchAllocator() = default;
  template <class U>
  ScratchAllocator(const ScratchAllocator<U>&) {}  // NOLINT: allocators convert
  T* allocate(std::size_t count) { return static_cast<T*>(allocate_column(count * sizeof(T))); }
  void deallocate(T* memory, std::size_t count) noexcept { free_column(memory, count * sizeof(T)); }
  friend bool operator==(ScratchAllocator, ScratchAllocator) { return true; }
};

// This is a vector with an entry for each row.
template <class T>
using RowVector = std::vector<T, ScratchAllocator<T>>;

}  // namespace nlsq::cli
