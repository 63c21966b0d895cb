// Reads several columns in --y: each is a group of its own, named by its column. group_command.cpp uses it.
#pragma once

#include "table/data_selection.hpp"

namespace nlsq::cli {

// Puts the responses below each other, as if a column of groups had their names. x and the standard
// deviations are repeated for each. A row that lacks a response is left out for that response alone. This
// must be called after the model was chosen. FitData::place() then takes rows of the stack. Throws BadData if
// a response has no values.
void stack_responses(FitData& data);

}  // namespace nlsq::cli
