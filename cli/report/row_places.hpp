// Converts row numbers in messages of the library, which count from 0, to places in the file.
#pragma once

#include "table/data_selection.hpp"

#include <nlsq/curve_fit.hpp>
#include <nlsq/error.hpp>

#include <functional>
#include <string>

namespace nlsq::cli {

// Replaces "row 1" by the place of that row: "data.csv:3".
std::string with_places(const std::string& message, const FitData& data);

// Does the same for a message whose rows are not those of the table: place(1) replaces "row 1". Numbers from
// `rows` on remain.
std::string with_places(const std::string& message, std::size_t rows,
                        const std::function<std::string(std::size_t)>& place);

// Replaces row numbers by places in the message and the warnings of a fit.
void name_places(const FitData& data, FitResult& fit);

// Returns the text of an error about the data of a fit, such as "data.csv:3: y has 1 value(s) that are not
// finite; the first is nan here".
std::string placed_message(const DataError& error, const FitData& data);

}  // namespace nlsq::cli
