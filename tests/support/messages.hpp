// Returns the messages of errors, for tests.
#pragma once

#include <nlsq/error.hpp>

#include <string>

// Returns the message of the error of type E that `call` throws. Other exceptions pass through.
template <class E = nlsq::ValidationError, class F>
std::string message_of(F call) {
  try {
    call();
  } catch (const E& error) {
    return error.what();
  }
  return "no such error";
}

inline bool contains(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}
