// Defines the names that snippets of the documents use without a definition: data of one decay, its errors,
// and a vector of residuals.
#pragma once

#include <nlsq/nlsq.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace snippet_data {

inline const std::vector<double> x = {0, 0.25, 0.5, 0.75, 1, 1.5, 2, 2.5, 3, 4, 5, 6};
inline const std::vector<double> y = {3.52, 3.01, 2.55, 2.21, 1.96, 1.42, 1.13, 0.91, 0.78, 0.58, 0.55, 0.49};
inline const std::vector<double> errors(x.size(), 0.03);

}  // namespace snippet_data

#define NLSQ_DOCUMENT_NAMES using namespace snippet_data;
