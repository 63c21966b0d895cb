// Makes scripts that complete the command line in shells. They are generated from the options, and installed.
#pragma once

#include "help/option_texts.hpp"

#include <string>
#include <vector>

namespace nlsq::cli {

// Returns the script for `shell`, which is bash, zsh or fish. Throws UsageError for any other.
std::string completion_script(const std::string& shell, const std::vector<OptionText>& options);

}  // namespace nlsq::cli
