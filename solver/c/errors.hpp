// Defines the errors of the C interface. Every function runs its work in `guarded`, which turns exceptions
// into status codes and keeps the text for nlsq_last_error.
#pragma once

#include <nlsq/c/base.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace nlsq::inline v0::c {

// Is thrown for a wrong argument of a C function.
struct ArgumentError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// Is thrown if a formula, a name or a tape is no model.
struct ModelError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// Is thrown if a callback returned a number that is not 0.
struct CallbackStopped : std::runtime_error {
  CallbackStopped(const std::string& message, int number) : std::runtime_error(message), code(number) {}
  int code;
};

// Is thrown if a tape and its recheck callback disagree in a row.
struct RecheckFailed : std::runtime_error {
  RecheckFailed(const std::string& message, std::size_t number) : std::runtime_error(message), row(number) {}
  std::size_t row;
};

// Keeps the exception that is being handled as this thread's last error, and returns its status. Rethrows the
// exception by which the C library ends a thread.
int keep_error();

template <class Work>
int guarded(Work&& work) {
  try {
    std::forward<Work>(work)();
    return NLSQ_OK;
  } catch (...) {
    return keep_error();
  }
}

// Throws ArgumentError if the pointer is NULL.
template <class T>
T* required(T* pointer, const char* name) {
  if (pointer == nullptr) throw ArgumentError(std::string(name) + " is NULL");
  return pointer;
}

// Stores the pointer that `make` returns. The pointer is NULL in case of an error.
template <class T, class Make>
int output(T** out, const char* name, Make make) {
  return guarded([&] {
    *required(out, name) = nullptr;
    *out = make();
  });
}

// Returns the text that `make` returns, or NULL in case of an error.
template <class Make>
const char* text_or_null(Make make) {
  const char* text = nullptr;
  guarded([&] { text = make(); });
  return text;
}

}  // namespace nlsq::inline v0::c
