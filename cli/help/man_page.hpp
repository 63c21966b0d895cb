// Writes the manual page, in the language of troff. It is installed as nlsq-fit.1.
#pragma once

#include "help/option_texts.hpp"

#include <string>
#include <vector>

namespace nlsq::cli {

std::string man_page(const std::vector<OptionText>& options);

}  // namespace nlsq::cli
