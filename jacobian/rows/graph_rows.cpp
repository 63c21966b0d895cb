// Evaluates the rows of a curve by tile programs, and records branches that rows reach during a fit.
#include "rows/graph_rows.hpp"
#include "rows/residual_sources.hpp"
#include "rows/twofold_rows.hpp"

#include "program/aligned_vector.hpp"

#include "kernels/kernel_table.hpp"
#include "machine_code/program_steps.hpp"
#include "program/local_buffer.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kPad = 64;  // kernels access whole multiples of this many rows
constexpr std::size_t kFewParameters = 32;
std::size_t padded(std::size_t rows) { return (rows + kPad - 1) / kPad * kPad; }

// Holds the registers and uniforms of one worker, in one precision.
template <class T>
class ProgramPass final : public TilePass {
 public:
  ProgramPass(const GraphRows& rows, Fill fill, const RowSource& data, std::span<const double> x)
      : rows_(rows), programs_(rows.shared_programs()), fill_(fill), program_(programs_->of(fill)),
        data_(data), steps_(chosen_steps()), stride_(padded(rows.tile_rows()) + vectors_apart<T>),
        storage_(static_cast<std::size_t>(program_.columns + program_.registers) * stride_),
        p_(rows.all_parameters()), wide_(static_cast<std::size_t>(program_.uniforms)),
        uniforms_(wide_.size()), vectors_(static_cast<std::size_t>(program_.columns + program_.registers)),
        columns_(static_cast<std::size_t>(rows.parameters()) + 1, nullptr) {
    for (std::size_t v = 0; v < vectors_.size(); ++v) vectors_[v] = storage_.data() + v * stride_;
    for (int c = 0; c < program_.columns; ++c) wide_columns_ = wide_columns_ || steps_->reads_f64(c);
    if (wide_columns_) doubles_ = AlignedVector<double>(static_cast<std::size_t>(program_.columns) * stride_);
    set(x);
  }

  ~ProgramPass() override { report_evaluated(); }

  // Returns false if the caller must begin a new pass. This is the case if the programs have changed, or if
  // this pass has evaluated so many rows that a new pass with machine code is faster.
  bool restart(std::span<const double> x) override {
    if (rows_.shared_programs() != programs_ || rows_.all_parameters() != p_.size()) return false;
    if (steps_->generated_runs() == 0 && repays_code(evaluated_)) {
      report_evaluated();
      return false;
    }
    set(x);
    return true;
  }

  double* const* fill_f64(std::size_t first, std::size_t count, KernelCounters& counters) override {
    if constexpr (std::is_same_v<T, double>) return fill(first, count, counters);
    return nullptr;
  }
  float* const* fill_f32(std::size_t first, std::size_t count, KernelCounters& counters) override {
    if constexpr (std::is_same_v<T, float>) return fill(first, count, counters);
    return nullptr;
  }
  int ones_column() const override { return ones_; }
  std::size_t bytes() const override {
    const std::size_t doubles = wide_columns_ ? static_cast<std::size_t>(program_.columns) : 0;
    return (vectors_.size() * sizeof(T) + doubles * sizeof(double)) * stride_;
  }

 private:
  void report_evaluated() {
    programs_->steps->add_evaluated(static_cast<int>(fill_), kDouble, std::exchange(evaluated_, 0));
  }

  void set(std::span<const double> x) {
    rows_.expand(x, p_);
    program_.evaluate_uniforms(p_, wide_);
    for (std::size_t k = 0; k < wide_.size(); ++k) uniforms_[k] = static_cast<T>(wide_[k]);
    ones_ = -1;
    if (program_.once.empty()) return;
    KernelCounters fills;  // separate counters: filling constants does not evaluate rows
    const auto& once = program_.once;
    kernels().of<T>().run(once.data(), once.size(), vectors_.data(), uniforms_.data(), stride_, &fills);
    find_ones();
  }

  // Chooses the steps of the program. Machine code pays off for long data. It converts columns of doubles to
  // floats by itself.
  std::shared_ptr<const ProgramSteps> chosen_steps() const {
    StepsRequest request{.f64 = kDouble};
    for (int c = 0; !kDouble && c < std::min(program_.columns, 64); ++c) {
      const bool used = program_.column_used[static_cast<std::size_t>(c)];
      if (used && data_.direct_f64(0, c) != nullptr) request.f64_columns |= std::uint64_t(1) << c;
    }
    return programs_->steps->get(static_cast<int>(fill_), program_, request, data_.rows());
  }

  // Finds a column of derivatives that is 1 in every row, such as the derivative by a constant that is added.
  // This column is a register that keeps its value within a pass. program_.once fills these registers from
  // uniforms. A negative operand `a` stands for uniform number ~a.
  void find_ones() {
    for (const Instruction& fill : program_.once) {
      if (wide_[static_cast<std::size_t>(~fill.a)] != 1) continue;
      for (std::size_t k = 0; k + 1 < program_.outputs.size(); ++k) {
        if (program_.outputs[k] == fill.dst)
          ones_ = static_cast<int>(columns_.size() - program_.outputs.size() + k);
      }
    }
  }

  T* const* fill(std::size_t first, std::size_t count, KernelCounters& counters) {
    load(first, count);
    run(count, counters);
    evaluated_ += count;
    const std::size_t shift = columns_.size() - program_.outputs.size();
    for (std::size_t k = 0; k < program_.outputs.size(); ++k) {
      columns_[shift + k] = vectors_[static_cast<std::size_t>(program_.outputs[k])];
    }
    return columns_.data();
  }

  void load(std::size_t first, std::size_t count) {
    if (first == loaded_.first && count == loaded_.count && rows_.data_version() == loaded_version_) return;
    loaded_ = {first, count};
    loaded_version_ = rows_.data_version();
    for (int c = 0; c < program_.columns; ++c) {
      const auto v = static_cast<std::size_t>(c);
      if (!program_.column_used[v]) continue;
      // Programs never write to columns.
      if (steps_->reads_f64(c)) {
        const double* values = column(first, count, c, doubles_.data() + v * stride_);
        vectors_[v] = reinterpret_cast<T*>(const_cast<double*>(values));
      } else {
        vectors_[v] = const_cast<T*>(column(first, count, c, storage_.data() + v * stride_));
      }
    }
  }

  // Returns a pointer to the data themselves if possible. Otherwise copies and converts them to `own`.
  template <class Value>
  const Value* column(std::size_t first, std::size_t count, int c, Value* own) const {
    const Value* direct = nullptr;
    // Kernels read whole groups of 64 rows, and memory beyond the data must not be read.
    if (first + padded(count) <= data_.rows()) {
      if constexpr (std::is_same_v<Value, double>) direct = data_.direct_f64(first, c);
      else direct = data_.direct_f32(first, c);
    }
    if (direct != nullptr) return direct;
    data_.read(first, count, c, own);
    std::fill(own + count, own + padded(count), own[count - 1]);  // valid values in the lanes beyond the
                                                                  // last row
    return own;
  }

  void run(std::size_t rows, KernelCounters& counters) {
    const auto steps = steps_->steps();
    kernels().of<T>().run_steps(steps.data(), steps.size(), vectors_.data(), uniforms_.data(), rows,
                                &counters);
  }

  static constexpr bool kDouble = std::is_same_v<T, double>;
  const GraphRows& rows_;
  std::shared_ptr<const ResidualPrograms> programs_;
  Fill fill_;
  const TileProgram& program_;  // one of the programs of that set
  const RowSource& data_;
  std::shared_ptr<const ProgramSteps> steps_;
  std::size_t stride_;
  AlignedVector<T> storage_;
  bool wide_columns_ = false;
  AlignedVector<double> doubles_;  // columns that f32 code reads as doubles
  std::vector<double> p_, wide_;
  TileRange loaded_;  // the rows that the column vectors hold; a small fit has only this one tile
  std::size_t loaded_version_ = 0;
  std::vector<T> uniforms_;
  std::vector<T*> vectors_;
  std::vector<T*> columns_;
  int ones_ = -1;
  std::size_t evaluated_ = 0;  // rows
};

}  // namespace

ResidualPrograms ResidualPrograms::build(const ResidualSource& source, std::span<const int> free) {
  Graph graph;
  const NodeId base = source.build(graph);
  const FinishedNodes end = source.finish(graph, base);
  ResidualPrograms programs;
  programs.steps = std::make_shared<StepsCache>();
  programs.residual = compile(graph, std::span(&end.residual, 1));
  std::vector<NodeId> outputs = differentiate(graph, base, free);
  for (NodeId& derivative : outputs) derivative = graph.mul(end.slope, derivative);
  outputs.insert(outputs.end(), end.extra.begin(), end.extra.end());
  outputs.push_back(end.residual);
  programs.jacobian = compile(graph, outputs);
  programs.residual_cost = programs.residual.row_cost();
  programs.jacobian_cost = programs.jacobian.row_cost();
  return programs;
}

GraphRows::GraphRows(std::shared_ptr<ResidualSource> source, std::shared_ptr<const RowSource> data,
                     std::vector<double> parameters, std::vector<int> free)
    : GraphRows(source, std::make_shared<const ResidualPrograms>(ResidualPrograms::build(*source, free)),
                std::move(data), std::move(parameters), free) {}

GraphRows::GraphRows(std::shared_ptr<ResidualSource> source, std::shared_ptr<const ResidualPrograms> programs,
                     std::shared_ptr<const RowSource> data, std::vector<double> parameters,
                     std::vector<int> free)
    : source_(std::move(source)), data_(std::move(data)), parameters_(std::move(parameters)),
      free_(std::move(free)), extra_(source_->extra_columns()), programs_(std::move(programs)),
      tile_rows_(
          static_cast<std::size_t>(std::min(programs_->residual.tile_rows, programs_->jacobian.tile_rows))) {}

// The size of tiles stays the same when a branch is added, because SampleRows holds ranges of them.
void GraphRows::rebuild() {
  programs_ = std::make_shared<const ResidualPrograms>(ResidualPrograms::build(*source_, free_));
  const std::lock_guard lock(inside_mutex_);
  inside_.reset();
}

double GraphRows::row_cost(Fill fill) const {
  return fill == Fill::residual ? programs_->residual_cost : programs_->jacobian_cost;
}

void GraphRows::expand(std::span<const double> x, std::span<double> out) const {
  std::copy(parameters_.begin(), parameters_.end(), out.begin());
  for (std::size_t j = 0; j < free_.size(); ++j) out[static_cast<std::size_t>(free_[j])] = x[j];
}

std::unique_ptr<TilePass> GraphRows::begin(std::span<const double> x, Fill fill, bool single) const {
  if (single) return std::make_unique<ProgramPass<float>>(*this, fill, *data_, x);
  return std::make_unique<ProgramPass<double>>(*this, fill, *data_, x);
}

// A NaN can mean a branch that no row has taken before. Finds the first such row, records it, and requests
// another pass. A few rounds suffice, because every round adds a branch.
RowModel::NonFinite GraphRows::explain_non_finite(std::span<const double> x, std::size_t first,
                                                  std::size_t count) {
  bool known = true;
  Graph graph;
  const NodeId explored = source_->build_explored(graph, known);
  if (known) return NonFinite::genuine;
  std::vector<double> p(parameters_.size()), row(static_cast<std::size_t>(data_->columns()));
  expand(x, p);
  for (std::size_t i = first; i < first + count; ++i) {
    for (int c = 0; c < data_->columns(); ++c) data_->read(i, 1, c, &row[static_cast<std::size_t>(c)]);
    if (evaluate(graph, explored, row, p) != 0) continue;
    if (!source_->explore(row, p)) return NonFinite::give_up;
    rebuild();
    return NonFinite::retry;
  }
  return NonFinite::genuine;
}

// Computes how much of a residual comes from y if the user's function subtracts y itself: |∂r/∂y y|. If
// several data may be y, the smallest result counts, as in TwofoldGraphRows::last_digits().
class GraphRows::ResponseInside {
 public:
  explicit ResponseInside(const ResidualSource& source) {
    Graph whole;
    const NodeId base = source.build(whole);
    for (const TwofoldExpression::Datum& datum :
         TwofoldExpression(whole, base).responses(source.response_column())) {
      if (datum.column < 0) continue;
      const NodeId slope = differentiate_column(whole, base, datum.column);
      changes_.push_back(import(graph_, whole, whole.mul(slope, whole.column(datum.column))));
    }
  }

  // Adds these sizes for up to kPad rows. columns[c] points at the values of data column c in these rows.
  void add_to(double* sizes, std::span<const double* const> columns, std::span<const double> p,
              std::size_t count) const {
    if (changes_.empty()) return;
    LocalBuffer<double, 8 * kPad> values(graph_.size() * kPad);
    for (NodeId id = 0; id < graph_.size(); ++id) evaluate(id, columns, p, count, values.data());
    for (std::size_t i = 0; i < count; ++i) {
      double least = 0;
      for (const NodeId change : changes_) {
        const double size = std::fabs(values[change * kPad + i]);
        if (size > 0 && std::isfinite(size)) least = least > 0 ? std::min(least, size) : size;
      }
      sizes[i] += least;
    }
  }

 private:
  void evaluate(NodeId id, std::span<const double* const> columns, std::span<const double> p,
                std::size_t count, double* values) const {
    const Node& node = graph_[id];
    double* out = values + id * kPad;
    switch (node.op) {
      case Op::constant: std::fill_n(out, count, node.value); break;
      case Op::column: std::copy_n(columns[node.index], count, out); break;
      case Op::parameter: std::fill_n(out, count, p[node.index]); break;
      default: {
        const double *a = values + node.a * kPad, *b = values + node.b * kPad, *c = values + node.c * kPad;
        for (std::size_t i = 0; i < count; ++i) out[i] = evaluate_op(node.op, a[i], b[i], c[i]);
      }
    }
  }

  Graph graph_;
  std::vector<NodeId> changes_;
};

namespace {

// Visits the rows in blocks of up to kPad rows. Calls visit(columns, done, count) for a block of `count` rows
// that follow the first `done` ones. columns[c] points at their values of data column c.
void for_blocks(const RowSource& data, std::size_t first, std::size_t count, auto&& visit) {
  const auto columns = static_cast<std::size_t>(data.columns());
  LocalBuffer<double, 8 * kPad> block(columns * kPad);
  LocalBuffer<const double*, 8> pointers(columns);
  for (std::size_t done = 0; done < count; done += kPad) {
    const std::size_t some = std::min(kPad, count - done);
    for (std::size_t c = 0; c < columns; ++c) {
      pointers[c] = data.direct_f64(first + done, static_cast<int>(c));
      if (pointers[c] != nullptr) continue;
      data.read(first + done, some, static_cast<int>(c), block.data() + c * kPad);
      pointers[c] = block.data() + c * kPad;
    }
    visit(std::span<const double* const>(pointers.data(), columns), done, some);
  }
}

}  // namespace

std::shared_ptr<const GraphRows::ResponseInside> GraphRows::response_inside() const {
  const std::lock_guard lock(inside_mutex_);
  if (inside_ == nullptr) inside_ = std::make_shared<const ResponseInside>(*source_);
  return inside_;
}

void GraphRows::reference_residuals(std::span<const double> x, std::size_t first, std::size_t count,
                                    double* residuals, double* magnitudes) const {
  LocalBuffer<double, kFewParameters> p(parameters_.size());
  expand(x, {p.data(), p.size()});
  for_blocks(*data_, first, count, [&](auto columns, std::size_t done, std::size_t some) {
    source_->reference_rows(columns, {p.data(), p.size()}, some, residuals + done, magnitudes + done);
    // If y is 0 everywhere, the model may be a function of residuals, which subtracts the true y itself.
    if (source_->response_column() < 0) return;
    const double* y = columns[static_cast<std::size_t>(source_->response_column())];
    if (!std::all_of(y, y + some, [](double value) { return value == 0; })) return;
    response_inside()->add_to(magnitudes + done, columns, {p.data(), p.size()}, some);
  });
}

void GraphRows::add_sizes_of_response(std::span<const double> x, std::size_t first, std::size_t count,
                                      double* magnitudes) const {
  LocalBuffer<double, kFewParameters> p(parameters_.size());
  expand(x, {p.data(), p.size()});
  const std::shared_ptr<const ResponseInside> inside = response_inside();
  for_blocks(*data_, first, count, [&](auto columns, std::size_t done, std::size_t some) {
    inside->add_to(magnitudes + done, columns, {p.data(), p.size()}, some);
  });
}

std::unique_ptr<TwofoldRows> GraphRows::twofold() const {
  Graph graph;
  const NodeId base = source_->build(graph);
  TwofoldExpression residual(graph, source_->finish(graph, base).residual);
  if (!residual.usable()) return nullptr;
  return std::make_unique<TwofoldGraphRows>(
      std::move(residual), *data_, parameters_.size(),
      [this](std::span<const double> x, std::span<double> all) { expand(x, all); },
      source_->response_column(), source_->weighted());
}

void GraphRows::reference_rows(std::span<const double> x, std::span<const double* const> columns,
                               std::size_t count, double* residuals, double* magnitudes) const {
  LocalBuffer<double, kFewParameters> p(parameters_.size());
  expand(x, {p.data(), p.size()});
  source_->reference_rows(columns, {p.data(), p.size()}, count, residuals, magnitudes);
}

void ResidualSource::reference_rows(std::span<const double* const> columns, std::span<const double> p,
                                    std::size_t count, double* residuals, double* magnitudes) const {
  LocalBuffer<double, 16> row(columns.size());
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t c = 0; c < columns.size(); ++c) row[c] = columns[c][i];
    residuals[i] = reference({row.data(), row.size()}, p, magnitudes[i]);
  }
}

}  // namespace nlsq::inline v0
