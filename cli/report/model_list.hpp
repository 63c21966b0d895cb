// Writes the texts of --list-models and --describe. run.cpp prints them.
#pragma once

#include <string>

namespace nlsq::cli {

std::string model_table();
std::string describe_model(const std::string& name);  // throws UsageError that lists similar names

}  // namespace nlsq::cli
