// Implements tapes as models of curves and as residual blocks, and the C functions that make them.
#include "c/errors.hpp"
#include "c/tapes/tape.hpp"
#include "rows/rows_value.hpp"

#include <nlsq/c/model.h>

#include <fmt/format.h>

namespace nlsq::inline v0::c {

ModelFunction model_of(std::shared_ptr<const Tape> tape, std::size_t predictors) {
  ModelFunction model;
  model.predictors = static_cast<int>(predictors);
  model.value =
      RowsValue{[tape](const double* x, std::span<const double> p) {
                  double value = 0;
                  tape->run(x, p.data(), &value);
                  return value;
                },
                [tape](std::span<const double* const> columns, std::span<const double> p, std::size_t count,
                       double* out) { tape->run_rows(columns, p.data(), count, {}, out); }};
  model.trace = [tape](const Traced* x, std::span<const Traced> p) {
    Traced value;
    tape->run(x, p.data(), &value);
    return value;
  };
  model.dual = [tape](const double* x, std::span<const Dual8> p) {
    Dual8 value;
    tape->run(x, p.data(), &value);
    return value;
  };
  return model;
}

namespace {

class TapeBlock final : public BlockFunction {
 public:
  TapeBlock(std::shared_ptr<const Tape> tape, std::vector<double> columns, std::vector<int> sizes)
      : BlockFunction(static_cast<int>(tape->outputs().size())), tape_(std::move(tape)),
        columns_(std::move(columns)), sizes_(std::move(sizes)) {}

  Derivatives derivatives_by() const override { return Derivatives::traced; }
  // Blocks of one tape differ in their columns only.
  const void* kind() const override { return tape_.get(); }
  bool value(const double* const* blocks, double* residuals) const override { return run(blocks, residuals); }
  bool trace(const Traced* const* blocks, Traced* residuals) const override { return run(blocks, residuals); }
  bool dual(const Dual8* const* blocks, Dual8* residuals) const override { return run(blocks, residuals); }

 private:
  template <class T>
  bool run(const T* const* blocks, T* residuals) const {
    std::vector<T> parameters;
    for (std::size_t k = 0; k < sizes_.size(); ++k)
      parameters.insert(parameters.end(), blocks[k], blocks[k] + sizes_[k]);
    tape_->run(columns_.data(), parameters.data(), residuals);
    return true;
  }

  std::shared_ptr<const Tape> tape_;
  std::vector<double> columns_;
  std::vector<int> sizes_;
};

}  // namespace

std::shared_ptr<const BlockFunction> block_of(std::shared_ptr<const Tape> tape, std::vector<double> columns,
                                              std::vector<int> block_sizes) {
  return std::make_shared<TapeBlock>(std::move(tape), std::move(columns), std::move(block_sizes));
}

namespace {

// Adds a node by `add` and stores its number.
template <class Add>
int append(nlsq_tape* handle, int* node, Add add) {
  return guarded([&] {
    required(node, "node");
    *node = add(*from_handle<Tape>(handle));
  });
}

void evaluate(const Tape& tape, const double* columns, std::size_t column_count, const double* parameters,
              std::size_t parameter_count, double* outputs, std::size_t output_count) {
  const auto enough = [](const char* what, std::size_t given, std::size_t needed, const void* data) {
    if (given < needed || (needed > 0 && data == nullptr))
      throw ArgumentError(fmt::format("the tape has {} {}, {} were given", needed, what, data ? given : 0));
  };
  enough("columns", column_count, tape.columns(), columns);
  enough("parameters", parameter_count, tape.parameters(), parameters);
  enough("outputs", output_count, tape.outputs().size(), outputs);
  tape.run(columns, parameters, outputs);
}

}  // namespace

}  // namespace nlsq::inline v0::c

using namespace nlsq::c;

extern "C" {

int nlsq_tape_new(nlsq_tape** tape) {
  return output(tape, "tape", [&] { return to_handle<nlsq_tape>(std::make_shared<Tape>()); });
}

int nlsq_tape_free(nlsq_tape* tape) {
  return guarded([&] { free_handle<Tape>(tape); });
}

int nlsq_tape_constant(nlsq_tape* tape, double value, int* node) {
  return append(tape, node, [&](Tape& t) { return t.constant(value); });
}

int nlsq_tape_column(nlsq_tape* tape, size_t index, int* node) {
  return append(tape, node, [&](Tape& t) { return t.column(index); });
}

int nlsq_tape_parameter(nlsq_tape* tape, size_t index, int* node) {
  return append(tape, node, [&](Tape& t) { return t.parameter(index); });
}

int nlsq_tape_operation(nlsq_tape* tape, const char* name, const int* operands, size_t count, int* node) {
  return append(tape, node, [&](Tape& t) {
    if (count > 0) required(operands, "operands");
    return t.operation(required(name, "name"), {operands, count});
  });
}

int nlsq_tape_output(nlsq_tape* tape, int node) {
  return guarded([&] { from_handle<Tape>(tape)->output(node); });
}

int nlsq_tape_evaluate(const nlsq_tape* tape, const double* columns, size_t column_count,
                       const double* parameters, size_t parameter_count, double* outputs,
                       size_t output_count) {
  return guarded([&] {
    evaluate(*from_handle<Tape>(tape), columns, column_count, parameters, parameter_count, outputs,
             output_count);
  });
}

}  // extern "C"
