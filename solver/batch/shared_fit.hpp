// The joint fit of groups that share some of their parameters. curve_fit_groups uses it.
#pragma once

#include <nlsq/groups.hpp>

namespace nlsq::inline v0 {

// curve_fit_groups with options.share. The columns have been checked.
GroupsResult fit_with_shared_parameters(const PreparedModel& model, const Columns& x, const Column& y,
                                        const Column& group, const NamedValues& p0,
                                        const GroupOptions& options);

}  // namespace nlsq::inline v0
