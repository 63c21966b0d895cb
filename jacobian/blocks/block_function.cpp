// Defaults of BlockFunction's evaluations. They throw, because the function does not offer them.
#include <nlsq/block_function.hpp>

#include <stdexcept>

namespace nlsq::inline v0 {

BlockFunction::~BlockFunction() = default;

bool BlockFunction::trace(const Traced* const*, Traced*) const {
  throw std::logic_error("this residual function is not recorded");
}
bool BlockFunction::dual(const Dual8* const*, Dual8*) const {
  throw std::logic_error("this residual function takes no dual numbers");
}
bool BlockFunction::derivatives(const double* const*, double*, double* const*) const {
  throw std::logic_error("this residual function has no derivatives of its own");
}

}  // namespace nlsq::inline v0
