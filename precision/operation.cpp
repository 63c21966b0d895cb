// Defines names and kinds of the operations of a solve.
#include <nlsq/operation.hpp>

#include "enum_names.hpp"

namespace nlsq::inline v0 {

const char* name(Operation operation) noexcept {
  static constexpr const char* kNames[] = {"evaluate",     "gram_product", "solve",       "cost_sum",
                                           "gradient_sum", "gram_sum",     "elementwise", "jacobian_storage",
                                           "parameters",   "results"};
  return name_in<Operation::results>(kNames, operation);
}

const char* name(OperationKind kind) noexcept {
  static constexpr const char* kNames[] = {"compute", "reduction", "elementwise", "data_movement",
                                           "boundary"};
  return name_in<OperationKind::boundary>(kNames, kind);
}

OperationKind kind_of(Operation operation) noexcept {
  switch (operation) {
    case Operation::evaluate:
    case Operation::gram_product:
    case Operation::solve: return OperationKind::compute;
    case Operation::cost_sum:
    case Operation::gradient_sum:
    case Operation::gram_sum: return OperationKind::reduction;
    case Operation::elementwise: return OperationKind::elementwise;
    case Operation::jacobian_storage: return OperationKind::data_movement;
    case Operation::parameters:
    case Operation::results: return OperationKind::boundary;
  }
  return OperationKind::boundary;
}

}  // namespace nlsq::inline v0
