// nlsq: nonlinear least squares in the lowest precision that cannot change the answer. This header includes
// the public interface, except what few programs need: groups.hpp, compare.hpp and certify.hpp are included
// by themselves, and ceres.hpp replaces Ceres's own header.
#pragma once

#include <nlsq/bootstrap.hpp>
#include <nlsq/check_derivatives.hpp>
#include <nlsq/covariance.hpp>
#include <nlsq/curve_fit.hpp>
#include <nlsq/curve_fit_batch.hpp>
#include <nlsq/derived.hpp>
#include <nlsq/evaluate.hpp>
#include <nlsq/least_squares.hpp>
#include <nlsq/policy_profile.hpp>
#include <nlsq/prediction.hpp>
#include <nlsq/problem.hpp>
#include <nlsq/profile_intervals.hpp>
#include <nlsq/statistics.hpp>
#include <nlsq/version.hpp>
