// The page that --help prints.
#pragma once

#include "help/option_texts.hpp"

#include <string>
#include <vector>

namespace nlsq::cli {

// One line for each option where it fits, at most 110 columns.
std::string help_page(const std::vector<OptionText>& options);

}  // namespace nlsq::cli
