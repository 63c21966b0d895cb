// A tape holds operations in the order a caller appended them. It runs on doubles, on recorded numbers and on
// dual numbers, so curve fits and residual blocks take it like a C++ callable.
#pragma once

#include "c/handles.hpp"

#include <nlsq/block_function.hpp>
#include <nlsq/callable.hpp>
#include <nlsq/formula.hpp>
#include <nlsq/graph.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nlsq::inline v0::c {

class Tape : public Object {
 public:
  static constexpr Kind kKind = Kind::tape;
  Tape() : Object(kKind) {}

  // These functions append an operation and return the number of its result. If an argument breaks a rule,
  // they throw ModelError and change nothing.
  int constant(double value);
  int column(std::size_t index);
  int parameter(std::size_t index);
  int operation(std::string_view name, std::span<const int> operands);
  void output(int node);

  // The operands of a step are numbers of earlier steps.
  const std::vector<Node>& steps() const { return steps_; }
  const std::vector<int>& outputs() const { return outputs_; }
  // Return one more than the largest index that is used.
  std::size_t columns() const { return columns_; }
  std::size_t parameters() const { return parameters_; }

  // Runs all steps at one row. T is double, Traced or Dual8.
  template <class T, class X>
  void run(const X* columns, const T* parameters, T* outputs) const;
  // Evaluates output 0 for `count` rows: columns[k] points at the rows of column k. If `noise` is not empty,
  // the result of operation i is multiplied by 1 + noise[i].
  void run_rows(std::span<const double* const> columns, const double* parameters, std::size_t count,
                std::span<const double> noise, double* out) const;

  // Returns output 0 as a formula with these names. For a tape that is too long for a formula, returns its
  // length and a number that distinguishes it from other tapes.
  std::string text(std::span<const std::string> parameters, std::span<const std::string> columns) const;

 private:
  int append(const Node& step);
  int numbered(Op op, std::size_t index, std::size_t& count);  // a column or parameter
  std::uint32_t known(int node) const;
  std::uint64_t identity() const;
  int compound(CompoundFunction function, std::span<const int> operands);

  std::vector<Node> steps_;
  std::vector<int> outputs_;
  std::size_t columns_ = 0, parameters_ = 0;
};

// Returns the model of output 0.
ModelFunction model_of(std::shared_ptr<const Tape> tape, std::size_t predictors);
// Returns a block whose residuals are all outputs. `columns` are the block's own numbers.
std::shared_ptr<const BlockFunction> block_of(std::shared_ptr<const Tape> tape, std::vector<double> columns,
                                              std::vector<int> block_sizes);

}  // namespace nlsq::inline v0::c
