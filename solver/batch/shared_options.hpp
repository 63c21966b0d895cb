// Checks the options of a joint fit of groups. shared_fit.cpp uses it.
#pragma once

#include "fit/fit_setup.hpp"
#include "fit/prepared_impl.hpp"

#include <nlsq/groups.hpp>

namespace nlsq::inline v0 {

// Throws ValidationError for options that a joint fit does not take, and for shared parameters that the model
// has not, or that are named twice.
void check_shared(const PreparedModel::Impl& model, const GroupOptions& options);

// Notes which free parameters end on a bound.
void note_parameters_on_bounds(const Limits& limits, const std::vector<std::string>& fixed,
                               GroupsResult& fits);

}  // namespace nlsq::inline v0
