// Refuses outputs that would overwrite the input or each other. fit_command.cpp uses it.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace nlsq::cli {

// Refuses a file that is given twice, whose rows would count twice, and standard input given twice. Throws
// UsageError.
void check_inputs(const std::vector<std::string>& inputs);

// `outputs` are pairs of an option and its file; empty names and "-" are left out. Links and other spellings
// of one file are recognised; devices such as /dev/null may be named twice. Throws UsageError.
void check_outputs(const std::vector<std::string>& inputs,
                   const std::vector<std::pair<std::string, std::string>>& outputs);

}  // namespace nlsq::cli
