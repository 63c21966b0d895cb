// Checks the options of a joint fit of groups. shared_fit.cpp uses it.
#pragma once

#include "fit/prepared_impl.hpp"

#include <nlsq/groups.hpp>

namespace nlsq::inline v0 {

// Throws ValidationError for options that a joint fit does not take, and for shared parameters that the model
// has not, or that are named twice.
void check_shared(const PreparedModel::Impl& model, const GroupOptions& options);

}  // namespace nlsq::inline v0
