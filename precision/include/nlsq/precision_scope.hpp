// Declares the default precision policy of a thread, for solves whose options name none.
#pragma once

#include <nlsq/export.hpp>
#include <nlsq/precision_policy.hpp>

namespace nlsq::inline v0 {

// Returns the policy of this thread's innermost PrecisionScope; PrecisionPolicy{} ("auto") if there is none.
NLSQ_API PrecisionPolicy current_policy();

// Sets the default policy of this thread as long as the object exists. A solve reads the default once, when
// it is called, so a running solve and other threads are not affected. Scopes nest and must end in reverse
// order.
class NLSQ_API PrecisionScope {
 public:
  // Throws ValidationError if the policy is invalid.
  explicit PrecisionScope(PrecisionPolicy policy);
  ~PrecisionScope();
  PrecisionScope(const PrecisionScope&) = delete;
  PrecisionScope& operator=(const PrecisionScope&) = delete;

 private:
  PrecisionPolicy policy_;
  const PrecisionPolicy* outer_;
};

}  // namespace nlsq::inline v0
