// --list-models and --describe.
#pragma once

#include <string>

namespace nlsq::cli {

std::string model_table();
std::string model_json();                             // an array, one object a model
std::string describe_model(const std::string& name);  // throws UsageError naming what comes near

}  // namespace nlsq::cli
