// Places in the file for the rows that messages about groups name. The library counts them from 0 within the
// group. group_command.cpp uses it.
#pragma once

#include "table/data_selection.hpp"

#include <nlsq/column.hpp>
#include <nlsq/groups.hpp>

#include <string>

namespace nlsq::cli {

// Replaces the row numbers in the messages of the groups. `group` is the column by which they were fitted.
void name_places(const FitData& data, const Column& group, GroupsResult& fits);

// Does this for a message about the first group of the table.
std::string with_places_of_first(const std::string& message, const FitData& data, const Column& group);

}  // namespace nlsq::cli
