// The operations of a solve by the names that graph compilers use, and what went wrong in them.
#pragma once

#include <nlsq/export.hpp>
#include <nlsq/format.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace nlsq::inline v0 {

enum class OperationKind : std::uint8_t {
  compute,        // rows evaluated, products of the Gram matrix, the factorisation
  reduction,      // sums
  elementwise,    // weights and losses of residuals
  data_movement,  // what is stored between operations
  boundary,       // what the caller gives and gets
};

enum class Operation : std::uint8_t {
  evaluate,      // model and derivatives of a row
  gram_product,  // operands of JᵀJ
  solve,         // factorisation and steps
  cost_sum,      // ½‖r‖²
  gradient_sum,  // Jᵀr
  gram_sum,      // JᵀJ within a tile; tiles are added up in f64
  elementwise,
  jacobian_storage,  // J as the Gram products read it
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

// One line of the issue log: what an operation's numbers did in one iteration. Counts are of values, exact,
// and each pass of the iteration adds its own. A tile with NaN or infinities was done again in f64.
// `evaluate`: [J | r] of rows in f32; `jacobian_storage`: J of f64 rows narrowed for the Gram products;
// `gram_sum`, `cost_sum`: sums of such tiles whose values are finite.
struct PrecisionIssue {
  int iteration = 0;
  Operation operation = Operation::evaluate;
  Format format = Format::f64;
  std::size_t nan = 0;
  std::size_t inf = 0;
  std::size_t near_limit =
      0;                 // finite, and within a factor 16 of the format's largest number (bf16's is f32's)
  std::size_t rows = 0;  // rows that have one of these
  std::string component = {};  // of the problem's, where it has named ones
  // Adds the counts of the same operation on other rows.
  PrecisionIssue& operator+=(const PrecisionIssue& other) noexcept {
    if (rows == 0) operation = other.operation, format = other.format, component = other.component;
    nan += other.nan, inf += other.inf, near_limit += other.near_limit, rows += other.rows;
    return *this;
  }
  bool operator==(const PrecisionIssue&) const = default;
};

}  // namespace nlsq::inline v0
