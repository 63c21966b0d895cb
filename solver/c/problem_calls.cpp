// Implements the functions of problem.h.
#include "c/caller_columns.hpp"
#include "c/caller_options.hpp"
#include "c/errors.hpp"
#include "c/named_lists.hpp"
#include "c/results/caller_result.hpp"
#include "c/tapes/tape.hpp"
#include "support/constants.hpp"
#include "support/fp_environment.hpp"

#include <nlsq/c/problem.h>
#include <nlsq/covariance.hpp>
#include <nlsq/problem.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

namespace nlsq::inline v0::c {

namespace {

struct CallerProblem : Object {
  static constexpr Kind kKind = Kind::problem;
  CallerProblem() : Object(kKind) {}

  Problem problem;
  std::map<const double*, int> sizes;  // of the declared blocks
  // Copies of tapes. Tapes only grow, so a copy with as many steps and outputs is the same tape. Blocks of
  // one copy are evaluated together.
  std::map<std::shared_ptr<const Tape>, std::shared_ptr<const Tape>> copies;

  std::shared_ptr<const Tape> copy_of(const std::shared_ptr<const Tape>& tape) {
    std::shared_ptr<const Tape>& copy = copies[tape];
    if (!copy || copy->steps().size() != tape->steps().size() ||
        copy->outputs().size() != tape->outputs().size())
      copy = std::make_shared<const Tape>(*tape);
    return copy;
  }
  // Throws ArgumentError if numbers of the block belong to another one.
  void check_overlap(const double* block, std::size_t size) const {
    const auto next = sizes.upper_bound(block);
    const bool into_next = next != sizes.end() && static_cast<std::size_t>(next->first - block) < size;
    const auto found = sizes.lower_bound(block);
    const bool from_last =
        found != sizes.begin() && std::prev(found)->second > block - std::prev(found)->first;
    if (into_next || from_last)
      throw ArgumentError(
          "block: its numbers are in part those of a block that was added before; blocks must not overlap");
  }
  int size_of(const double* block) const {
    const auto found = sizes.find(block);
    if (found == sizes.end())
      throw ArgumentError(
          "a parameter block is not declared: call nlsq_problem_add_parameters with its address first");
    return found->second;
  }
};

class CallbackBlock final : public BlockFunction {
 public:
  CallbackBlock(nlsq_block_function function, void* user, bool has_jacobian, int residuals)
      : BlockFunction(residuals), function_(function), user_(user), has_jacobian_(has_jacobian) {}

  Derivatives derivatives_by() const override {
    return has_jacobian_ ? Derivatives::own : Derivatives::differences;
  }
  const void* kind() const override { return reinterpret_cast<const void*>(function_); }
  bool value(const double* const* blocks, double* residuals) const override {
    return call(blocks, residuals, nullptr);
  }
  bool derivatives(const double* const* blocks, double* residuals, double* const* J) const override {
    return call(blocks, residuals, J);
  }

 private:
  bool call(const double* const* blocks, double* residuals, double* const* J) const {
    const int code = function_(blocks, residuals, J, user_);
    if (code > 1 || code < 0)
      throw CallbackStopped(fmt::format("the callback of a residual block returned {}", code), code);
    return code == 0;
  }

  nlsq_block_function function_;
  void* user_;
  bool has_jacobian_;
};

Loss loss_named(const char* name, double scale) {
  return Loss::named(name == nullptr ? "linear" : name, scale);
}

void add_tape(CallerProblem& p, const std::shared_ptr<const Tape>& given, const nlsq_column* columns,
              std::size_t column_count, std::size_t count, const Loss& loss, double* const* blocks,
              std::size_t block_count) {
  const std::shared_ptr<const Tape> tape = p.copy_of(given);
  if (tape->outputs().empty())
    throw ModelError("the tape has no output: mark the residuals by nlsq_tape_output");
  if (tape->columns() > column_count) {
    throw ModelError(
        fmt::format("the tape uses {} data columns, {} were given", tape->columns(), column_count));
  }
  CallerColumns kept;
  const std::vector<Column> data = kept.views(columns, column_count, "columns");
  for (std::size_t k = 0; k < data.size(); ++k) {
    if (data[k].size() != count)
      throw ArgumentError(
          fmt::format("columns[{}] has {} entries, {} residual blocks are added", k, data[k].size(), count));
  }
  if (block_count == 0)
    throw ArgumentError("block_count is 0: a residual block depends on at least one block");
  if (count > 0) required(blocks, "blocks");
  // All arguments are checked before the first block is added.
  std::vector<int> sizes(block_count);
  for (std::size_t r = 0; r < count; ++r) {
    std::size_t numbers = 0;
    for (std::size_t k = 0; k < block_count; ++k)
      numbers += static_cast<std::size_t>(p.size_of(blocks[r * block_count + k]));
    if (numbers < tape->parameters()) {
      throw ModelError(fmt::format("residual block {}: the tape uses {} parameters, and its blocks have {}",
                                   r, tape->parameters(), numbers));
    }
  }
  for (std::size_t r = 0; r < count; ++r) {
    std::vector<BlockRef> refs;
    for (std::size_t k = 0; k < block_count; ++k) {
      double* const block = blocks[r * block_count + k];
      sizes[k] = p.size_of(block);
      refs.emplace_back(block);
    }
    std::vector<double> own;
    for (const Column& column : data) own.push_back(column[r]);
    p.problem.add_residual_block(block_of(tape, std::move(own), sizes), loss, refs);
  }
}

void add_callback(CallerProblem& p, nlsq_block_function function, void* user, bool has_jacobian,
                  std::size_t residuals, const Loss& loss, double* const* blocks, std::size_t block_count) {
  if (residuals == 0 || residuals > 1000000)
    throw ArgumentError(fmt::format("residuals = {}: use 1 to 1000000", residuals));
  if (block_count == 0)
    throw ArgumentError("block_count is 0: a residual block depends on at least one block");
  required(blocks, "blocks");
  std::vector<BlockRef> refs;
  for (std::size_t k = 0; k < block_count; ++k) {
    p.size_of(blocks[k]);
    refs.emplace_back(blocks[k]);
  }
  p.problem.add_residual_block(
      std::make_shared<CallbackBlock>(function, user, has_jacobian, static_cast<int>(residuals)), loss, refs);
}

void set_bounds(CallerProblem& p, double* block, const double* lower, const double* upper) {
  const int size = p.size_of(block);
  for (int i = 0; i < size; ++i) {
    p.problem.set_lower_bound(block, i, lower != nullptr ? lower[i] : -kInfinity);
    p.problem.set_upper_bound(block, i, upper != nullptr ? upper[i] : kInfinity);
  }
}

void write_covariance(CallerProblem& p, double* const* blocks, std::size_t block_count, double* out,
                      std::size_t entries) {
  const FpEnvironment environment;
  if (block_count == 0) throw ArgumentError("block_count is 0: choose at least one block");
  required(blocks, "blocks");
  required(out, "covariance");
  std::size_t n = 0;
  for (std::size_t k = 0; k < block_count; ++k) n += static_cast<std::size_t>(p.size_of(blocks[k]));
  if (entries != n * n)
    throw ArgumentError(
        fmt::format("entries is {}; the blocks have {} numbers, so give room for {}", entries, n, n * n));
  const Matrix joint =
      covariance(p.problem, std::vector<const double*>(blocks, blocks + block_count)).joint();
  std::copy_n(joint.data(), n * n, out);
}

}  // namespace

}  // namespace nlsq::inline v0::c

using namespace nlsq::c;

extern "C" {

int nlsq_problem_new(nlsq_problem** problem) {
  return output(problem, "problem",
                [&] { return to_handle<nlsq_problem>(std::make_shared<CallerProblem>()); });
}

int nlsq_problem_free(nlsq_problem* problem) {
  return guarded([&] { free_handle<CallerProblem>(problem); });
}

int nlsq_problem_add_parameters(nlsq_problem* problem, double* block, size_t size) {
  return guarded([&] {
    const auto p = from_handle<CallerProblem>(problem);
    if (size == 0 || size > 100000000)
      throw ArgumentError(fmt::format("size = {}: use 1 to 100000000", size));
    p->check_overlap(required(block, "block"), size);
    p->problem.add_parameter_block(block, static_cast<int>(size));
    p->sizes[block] = static_cast<int>(size);
  });
}

int nlsq_problem_set_manifold(nlsq_problem* problem, double* block, const char* manifold) {
  return guarded([&] {
    const auto p = from_handle<CallerProblem>(problem);
    p->problem.set_manifold(block, manifold_of(manifold == nullptr ? "" : manifold, p->size_of(block)));
  });
}

int nlsq_problem_set_constant(nlsq_problem* problem, double* block, int constant) {
  return guarded([&] {
    const auto p = from_handle<CallerProblem>(problem);
    p->size_of(block);
    if (constant != 0) p->problem.set_constant(block);
    else p->problem.set_variable(block);
  });
}

int nlsq_problem_set_bounds(nlsq_problem* problem, double* block, const double* lower, const double* upper) {
  return guarded([&] { set_bounds(*from_handle<CallerProblem>(problem), block, lower, upper); });
}

int nlsq_problem_set_elimination_group(nlsq_problem* problem, double* block, int group) {
  return guarded([&] {
    const auto p = from_handle<CallerProblem>(problem);
    p->size_of(block);
    p->problem.set_elimination_group(block, group);
  });
}

int nlsq_problem_add_tape(nlsq_problem* problem, const nlsq_tape* tape, const nlsq_column* columns,
                          size_t column_count, size_t count, const char* loss, double loss_scale,
                          double* const* blocks, size_t block_count) {
  return guarded([&] {
    add_tape(*from_handle<CallerProblem>(problem), from_handle<Tape>(tape), columns, column_count, count,
             loss_named(loss, loss_scale), blocks, block_count);
  });
}

int nlsq_problem_add_callback(nlsq_problem* problem, nlsq_block_function function, void* user,
                              int has_jacobian, size_t residuals, const char* loss, double loss_scale,
                              double* const* blocks, size_t block_count) {
  return guarded([&] {
    add_callback(*from_handle<CallerProblem>(problem), required(function, "function"), user,
                 has_jacobian != 0, residuals, loss_named(loss, loss_scale), blocks, block_count);
  });
}

int nlsq_problem_size(const nlsq_problem* problem, size_t* parameter_blocks, size_t* residual_blocks,
                      size_t* residuals, size_t* parameters) {
  return guarded([&] {
    const auto p = from_handle<CallerProblem>(problem);
    *required(parameter_blocks, "parameter_blocks") = p->problem.parameter_blocks();
    *required(residual_blocks, "residual_blocks") = p->problem.residual_blocks();
    *required(residuals, "residuals") = p->problem.residuals();
    *required(parameters, "parameters") = static_cast<size_t>(p->problem.parameters());
  });
}

int nlsq_problem_evaluate(const nlsq_problem* problem, double* cost, double* residuals,
                          size_t residual_count) {
  return guarded([&] {
    const auto p = from_handle<CallerProblem>(problem);
    required(cost, "cost");
    const nlsq::ProblemEvaluation at = p->problem.evaluate();
    *cost = at.cost;
    if (residuals == nullptr) return;
    if (residual_count != at.residuals.size()) {
      throw ArgumentError(fmt::format("residual_count is {}, the problem has {} residuals", residual_count,
                                      at.residuals.size()));
    }
    std::copy(at.residuals.begin(), at.residuals.end(), residuals);
  });
}

int nlsq_problem_solve(nlsq_problem* problem, const nlsq_options* options, nlsq_result** result) {
  return output(result, "result", [&] {
    const auto p = from_handle<CallerProblem>(problem);
    const auto set = options_of(options);
    const nlsq::FpEnvironment environment;
    auto made = std::make_shared<ProblemResult>();
    made->solved = nlsq::solve(p->problem, set->problem_options());
    return to_handle<nlsq_result>(std::move(made));
  });
}

int nlsq_problem_covariance(nlsq_problem* problem, double* const* blocks, size_t block_count,
                            double* covariance, size_t entries) {
  return guarded([&] {
    write_covariance(*from_handle<CallerProblem>(problem), blocks, block_count, covariance, entries);
  });
}

}  // extern "C"
