// Declares the part of suite bal that runs each solver in its own process.
#pragma once

#include "harness.hpp"

#include <string>

namespace bench {

// Measures time to one cost and peak memory, with each solver run once in a process of its own.
void compare_in_children(const Settings& settings);

// The child process: runs solver `way` on the scene in the settings until `target`, and prints its time and
// memory.
void answer_with_bundle(const std::string& way, double target, const Settings& settings);

}  // namespace bench
