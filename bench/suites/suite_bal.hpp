// The part of suite bal that runs each way in a process of its own.
#pragma once

#include "harness.hpp"

#include <string>

namespace bench {

// Time to one cost and peak memory, each way once, in a process that does nothing else.
void compare_in_children(const Settings& settings);

// The child: runs `way` on the scene that the settings name, down to `target`, and prints what it took.
void answer_with_bundle(const std::string& way, double target, const Settings& settings);

}  // namespace bench
