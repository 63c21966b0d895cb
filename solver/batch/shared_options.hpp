// Checks the options of a joint fit of groups. shared_fit.cpp uses it.
#pragma once

#include "fit/prepared_impl.hpp"

#include <nlsq/groups.hpp>

namespace nlsq::inline v0 {

// Throws ValidationError for options that a joint fit does not take, and for shared parameters that the model
// has not, or that are named twice.
void check_shared(const PreparedModel::Impl& model, const GroupOptions& options);

// Notes the parameters on a bound of a joint fit, which counts them as fixed there.
void find_bounds(const FitOptions& options, GroupsResult& fits);

}  // namespace nlsq::inline v0
