// Names and kinds of the operations of a solve.
#include <nlsq/operation.hpp>

namespace nlsq::inline v0 {

const char* name(Operation operation) noexcept {
  switch (operation) {
    case Operation::evaluate: return "evaluate";
    case Operation::gram_product: return "gram_product";
    case Operation::solve: return "solve";
    case Operation::cost_sum: return "cost_sum";
    case Operation::gradient_sum: return "gradient_sum";
    case Operation::gram_sum: return "gram_sum";
    case Operation::elementwise: return "elementwise";
    case Operation::jacobian_storage: return "jacobian_storage";
    case Operation::parameters: return "parameters";
    case Operation::results: return "results";
  }
  return "?";
}

const char* name(OperationKind kind) noexcept {
  switch (kind) {
    case OperationKind::compute: return "compute";
    case OperationKind::reduction: return "reduction";
    case OperationKind::elementwise: return "elementwise";
    case OperationKind::data_movement: return "data_movement";
    case OperationKind::boundary: return "boundary";
  }
  return "?";
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
