// Checks that all numbers of a column have percent signs, or none.
#pragma once

#include <nlsq/column.hpp>

#include <cstddef>
#include <functional>
#include <string>

namespace nlsq::cli {

// Returns true if some number of a column has a percent sign. Throws BadData if another, which is not 0, has
// none. `label` names the column. has_sign(i) and place(i) give the sign and the place of row i.
bool has_percents(const Column& values, const std::string& label,
                  const std::function<bool(std::size_t)>& has_sign,
                  const std::function<std::string(std::size_t)>& place);

}  // namespace nlsq::cli
