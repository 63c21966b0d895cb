// The stack of default policies of each thread.
#include <nlsq/precision_scope.hpp>

#include <nlsq/error.hpp>

#include <utility>

namespace nlsq::inline v0 {

namespace {

thread_local const PrecisionPolicy* innermost = nullptr;

}  // namespace

PrecisionPolicy current_policy() { return innermost != nullptr ? *innermost : PrecisionPolicy{}; }

PrecisionScope::PrecisionScope(PrecisionPolicy policy) : policy_(std::move(policy)), outer_(innermost) {
  if (auto found = policy_.validate(); !found.empty()) throw ValidationError(std::move(found));
  innermost = &policy_;
}

PrecisionScope::~PrecisionScope() { innermost = outer_; }

}  // namespace nlsq::inline v0
