// The policy of solves whose options name none.
#pragma once

#include <nlsq/export.hpp>
#include <nlsq/precision_policy.hpp>

namespace nlsq::inline v0 {

// The innermost PrecisionScope's of this thread; PrecisionPolicy{} ("auto") outside any.
NLSQ_API PrecisionPolicy current_policy();

// While it lives, the default of this thread. A solve reads it once, when it is called; a solve under way,
// and other threads, do not notice. Scopes nest and end in reverse order.
class NLSQ_API PrecisionScope {
 public:
  // Throws ValidationError for a policy that is not sound.
  explicit PrecisionScope(PrecisionPolicy policy);
  ~PrecisionScope();
  PrecisionScope(const PrecisionScope&) = delete;
  PrecisionScope& operator=(const PrecisionScope&) = delete;

 private:
  PrecisionPolicy policy_;
  const PrecisionPolicy* outer_;
};

}  // namespace nlsq::inline v0
