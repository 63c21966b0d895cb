// Runs nlsq-fit with --group-by: fits the rows of each group by themselves, and reports all of them in one
// table.
#pragma once

#include "arguments/arguments.hpp"

#include <string>

namespace nlsq::cli {

// Returns the first given option that is for one fit alone, or an empty text.
std::string option_of_one_fit(const Arguments& arguments);

// Throws UsageError for options that --group-by cannot be combined with.
void check_group_arguments(const Arguments& arguments);

// Returns the exit status: 0 if every group succeeded, 1 if one did not.
int group_command(const Arguments& arguments);

}  // namespace nlsq::cli
