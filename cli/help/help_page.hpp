// Declares the page that --help prints.
#pragma once

#include "help/option_texts.hpp"

#include <string>
#include <vector>

namespace nlsq::cli {

// Returns one line for each option if it fits. Lines have at most 110 columns.
std::string help_page(const std::vector<OptionText>& options);

}  // namespace nlsq::cli
