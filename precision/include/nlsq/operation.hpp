// Names the operations of a solve as graph compilers do, and counts the bad values that each one produced.
// Precision policies and the issue log of the Summary use both.
#pragma once

#include <nlsq/export.hpp>
#include <nlsq/format.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace nlsq::inline v0 {

enum class OperationKind : std::uint8_t {
  compute,        // residual and Jacobian rows, products of the Gram matrix, factorization
  reduction,      // sums
  elementwise,    // weights and robust losses of residuals
  data_movement,  // what is stored between operations
  boundary,       // the caller's input and output
};

enum class Operation : std::uint8_t {
  evaluate,      // residuals and derivatives of a row
  gram_product,  // operands of JᵀJ
  solve,         // factorization and steps
  cost_sum,      // ½‖r‖²
  gradient_sum,  // Jᵀr
  gram_sum,      // JᵀJ within a tile of rows; the tiles are summed in f64
  elementwise,
  jacobian_storage,  // J in the format that the Gram products read
  parameters,
  results,
};

inline constexpr std::array<OperationKind, 5> kOperationKinds{
    OperationKind::compute, OperationKind::reduction, OperationKind::elementwise,
    OperationKind::data_movement, OperationKind::boundary};
inline constexpr std::array<Operation, 10> kOperations{
    Operation::evaluate,     Operation::gram_product, Operation::solve,       Operation::cost_sum,
    Operation::gradient_sum, Operation::gram_sum,     Operation::elementwise, Operation::jacobian_storage,
    Operation::parameters,   Operation::results};

NLSQ_API const char* name(Operation operation) noexcept;
NLSQ_API const char* name(OperationKind kind) noexcept;
NLSQ_API OperationKind kind_of(Operation operation) noexcept;

// This is one entry of the issue log: the bad values of one operation in one iteration. The counts are exact
// numbers of values, summed over all passes of the iteration. A tile of rows with a NaN or an infinity is
// recomputed in f64. Entries for `evaluate` count [J | r] of f32 rows. Entries for `jacobian_storage` count
// the values of f64 rows that were rounded for the Gram products. Entries for `gram_sum` and `cost_sum` count
// sums of tiles whose inputs are finite.
struct PrecisionIssue {
  int iteration = 0;
  Operation operation = Operation::evaluate;
  Format format = Format::f64;
  std::size_t nan = 0;
  std::size_t inf = 0;
  // Finite, but within a factor of 16 of the format's largest number (for bf16: of f32's).
  std::size_t near_limit = 0;
  std::size_t rows = 0;        // rows with at least one such value
  std::string component = {};  // name of the problem's component, if it has named ones
  // Adds the counts of the same operation on other rows.
  PrecisionIssue& operator+=(const PrecisionIssue& other) noexcept {
    if (rows == 0) operation = other.operation, format = other.format, component = other.component;
    nan += other.nan, inf += other.inf, near_limit += other.near_limit, rows += other.rows;
    return *this;
  }
  bool operator==(const PrecisionIssue&) const = default;
};

}  // namespace nlsq::inline v0
