// Declares the handles of the C interface. A handle is a number that is never used twice, in the form of a
// pointer. So a freed handle, NULL and any other pointer are recognised, and an object that one thread frees
// during a call of another lives until the end of that call.
#pragma once

#include <nlsq/c/base.h>

#include <cstdint>
#include <memory>
#include <stdexcept>

namespace nlsq::inline v0::c {

enum class Kind : std::uint8_t { options, result, model, tape, problem };

// This is the base class of everything that has a handle.
class Object {
 public:
  explicit Object(Kind kind) : kind_(kind) {}
  Object(const Object& other) = default;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

// Is thrown for a handle that is NULL, freed or of another type.
struct HandleError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

std::uintptr_t add_object(std::shared_ptr<Object> object);
std::shared_ptr<Object> find_object(std::uintptr_t handle, Kind kind);  // throws HandleError
void remove_object(std::uintptr_t handle, Kind kind);                   // throws HandleError; 0: does nothing
std::size_t count_objects() noexcept;

// The functions below do the same for the types of the header. `Class` is the class behind the handle, with a
// static member `kKind`.
template <class Handle, class Class>
Handle* to_handle(std::shared_ptr<Class> object) {
  return reinterpret_cast<Handle*>(add_object(std::move(object)));
}
template <class Class, class Handle>
std::shared_ptr<Class> from_handle(const Handle* handle) {
  return std::static_pointer_cast<Class>(find_object(reinterpret_cast<std::uintptr_t>(handle), Class::kKind));
}
template <class Class, class Handle>
void free_handle(Handle* handle) {
  remove_object(reinterpret_cast<std::uintptr_t>(handle), Class::kKind);
}

}  // namespace nlsq::inline v0::c
