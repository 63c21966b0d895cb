// Implements the table of all handles of the C interface.
#include "c/handles.hpp"

#include "enum_names.hpp"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace nlsq::inline v0::c {

namespace {

// Threads that work with different handles rarely need the same part, so they do not wait for each other.
constexpr std::size_t kParts = 16;
struct Part {
  std::mutex mutex;
  std::unordered_map<std::uintptr_t, std::shared_ptr<Object>> objects;
};
struct Table {
  std::array<Part, kParts> parts;
  std::atomic<std::uintptr_t> next{1};
  std::atomic<std::size_t> live{0};
};

// Returns the table. It is never destroyed, so that functions which run at the end of the program may still
// use handles.
Table& table() {
  static Table* const all = new Table;
  return *all;
}

const char* name(Kind kind) {
  static constexpr const char* kNames[] = {"nlsq_options", "nlsq_result", "nlsq_model", "nlsq_tape",
                                           "nlsq_problem"};
  return name_in<Kind::problem>(kNames, kind);
}

// Handles are multiples of 16, like addresses, in case a caller keeps flags in the low bits.
Part& part_of(std::uintptr_t handle) { return table().parts[handle / 16 % kParts]; }

// Returns the place in a part of the object behind a handle, which must be of this kind.
auto place_of(Part& part, std::uintptr_t handle, Kind kind) {
  const auto found = part.objects.find(handle);
  if (handle == 0) throw HandleError(fmt::format("the handle {} is NULL: make it first", name(kind)));
  if (found == part.objects.end()) {
    throw HandleError(fmt::format("the handle {} {:#x} does not exist: it was freed, or was never made",
                                  name(kind), handle));
  }
  if (found->second->kind() != kind) {
    throw HandleError(
        fmt::format("a handle {} was given where {} is wanted", name(found->second->kind()), name(kind)));
  }
  return found;
}

}  // namespace

std::uintptr_t add_object(std::shared_ptr<Object> object) {
  const std::uintptr_t handle = 16 * table().next.fetch_add(1, std::memory_order_relaxed);
  Part& part = part_of(handle);
  const std::lock_guard lock(part.mutex);
  part.objects.emplace(handle, std::move(object));
  table().live.fetch_add(1, std::memory_order_relaxed);
  return handle;
}

std::shared_ptr<Object> find_object(std::uintptr_t handle, Kind kind) {
  Part& part = part_of(handle);
  const std::lock_guard lock(part.mutex);
  return place_of(part, handle, kind)->second;
}

void remove_object(std::uintptr_t handle, Kind kind) {
  if (handle == 0) return;
  std::shared_ptr<Object> last;  // destroyed after the lock is released
  Part& part = part_of(handle);
  const std::lock_guard lock(part.mutex);
  const auto found = place_of(part, handle, kind);
  last = std::move(found->second);
  part.objects.erase(found);
  table().live.fetch_sub(1, std::memory_order_relaxed);
}

std::size_t count_objects() noexcept { return table().live.load(std::memory_order_relaxed); }

}  // namespace nlsq::inline v0::c
