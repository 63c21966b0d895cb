// Stores status codes and texts of errors, one set for each thread.
#include "c/errors.hpp"

#include "c/handles.hpp"

#include <nlsq/error.hpp>
#include <nlsq/json/fit.hpp>
#include <nlsq/summary.hpp>
#include <nlsq/version.hpp>

#include <cxxabi.h>
#include <exception>
#include <iterator>
#include <new>
#include <optional>
#include <string_view>

namespace nlsq::inline v0::c {

namespace {

struct LastError {
  std::string text;
  const char* fixed_text = nullptr;  // replaces `text` if there was no memory for it
  int status = NLSQ_OK;
  std::optional<std::size_t> row, column, position;
  std::optional<int> callback;
};

LastError& last() {
  thread_local LastError error;
  return error;
}

// Returns nothing for DataError::npos and similar values, which mean that no place is known.
std::optional<std::size_t> place(std::size_t index) {
  if (index == static_cast<std::size_t>(-1)) return std::nullopt;
  return index;
}

int keep(int status, const char* text) {
  LastError& error = last();
  error.status = status;
  error.row = error.column = error.position = std::nullopt;
  error.callback = std::nullopt;
  error.fixed_text = nullptr;
  try {
    error.text = text;
  } catch (...) {
    error.fixed_text = "memory ran out";
  }
  return status;
}

// Stores exceptions that carry a number beside their text.
int keep_located() {
  try {
    throw;
  } catch (const CallbackStopped& e) {
    keep(NLSQ_ERROR_CALLBACK, e.what());
    last().callback = e.code;
  } catch (const RecheckFailed& e) {
    keep(NLSQ_ERROR_RECHECK, e.what());
    last().row = e.row;
  } catch (const FormulaError& e) {
    keep(NLSQ_ERROR_MODEL, e.what());
    last().position = place(e.column());
  } catch (const DataError& e) {
    keep(NLSQ_ERROR_DATA, e.what());
    last().row = place(e.row());
    last().column = place(e.column());
  }
  return last().status;
}

}  // namespace

int keep_error() {
  try {
    return keep_located();
  } catch (const HandleError& e) {
    return keep(NLSQ_ERROR_HANDLE, e.what());
  } catch (const ArgumentError& e) {
    return keep(NLSQ_ERROR_ARGUMENT, e.what());
  } catch (const ModelError& e) {
    return keep(NLSQ_ERROR_MODEL, e.what());
  } catch (const Error& e) {
    return keep(NLSQ_ERROR_OPTION, e.what());
  } catch (const std::bad_alloc&) {
    return keep(NLSQ_ERROR_MEMORY, "memory ran out");
  } catch (const std::length_error&) {
    return keep(NLSQ_ERROR_MEMORY, "an array would be larger than memory");
  } catch (const std::exception& e) {
    return keep(NLSQ_ERROR_INTERNAL, e.what());
  } catch (abi::__forced_unwind&) {
    throw;  // the thread is being cancelled; the C library ends the program if this stops here
  } catch (...) {
    return keep(NLSQ_ERROR_INTERNAL, "a callback threw a C++ exception that is no std::exception");
  }
}

}  // namespace nlsq::inline v0::c

using nlsq::c::last;

extern "C" {

const char* nlsq_version() { return nlsq::version(); }

const char* nlsq_build_information() {
  thread_local std::string text;
  const int status = nlsq::c::guarded([&] { text = nlsq::build_information(); });
  return status == NLSQ_OK ? text.c_str() : nlsq::version();
}

const char* nlsq_status_name(int status) {
  static constexpr const char* kNames[] = {
      "NLSQ_OK",           "NLSQ_ERROR_ARGUMENT", "NLSQ_ERROR_HANDLE",   "NLSQ_ERROR_MODEL",
      "NLSQ_ERROR_OPTION", "NLSQ_ERROR_DATA",     "NLSQ_ERROR_CALLBACK", "NLSQ_ERROR_RECHECK",
      "NLSQ_ERROR_MEMORY", "NLSQ_ERROR_INTERNAL"};
  static_assert(std::size(kNames) == NLSQ_ERROR_INTERNAL + 1);
  return status < NLSQ_OK || status > NLSQ_ERROR_INTERNAL ? "unknown" : kNames[status];
}

const char* nlsq_verdict_name(int verdict) {
  if (verdict < NLSQ_CONVERGED || verdict > NLSQ_FAILED) return "unknown";
  return name(static_cast<nlsq::Verdict>(verdict));
}

const char* nlsq_termination_name(int termination) {
  if (termination < NLSQ_ENDED_CONVERGED || termination > NLSQ_ENDED_FAILURE) return "unknown";
  return nlsq::status_word(static_cast<nlsq::Termination>(termination));
}

const char* nlsq_last_error() {
  return last().fixed_text != nullptr ? last().fixed_text : last().text.c_str();
}

int nlsq_last_error_number(const char* name, double* value) {
  if (name == nullptr || value == nullptr) return NLSQ_ERROR_ARGUMENT;
  const auto& error = last();
  const std::string_view wanted(name);
  const auto give = [&](const auto& number) -> int {
    if (!number) return NLSQ_ERROR_ARGUMENT;
    *value = static_cast<double>(*number);
    return NLSQ_OK;
  };
  if (wanted == "status") return give(std::optional<int>(error.status));
  if (wanted == "row") return give(error.row);
  if (wanted == "column") return give(error.column);
  if (wanted == "position") return give(error.position);
  if (wanted == "callback") return give(error.callback);
  return NLSQ_ERROR_ARGUMENT;
}

size_t nlsq_live_handles() { return nlsq::c::count_objects(); }

}  // extern "C"
