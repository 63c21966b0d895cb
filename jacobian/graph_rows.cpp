#include <nlsq/graph_rows.hpp>

#include "aligned_buffer.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kPad = 64;  // kernels touch whole multiples of this many rows
std::size_t padded(std::size_t rows) { return (rows + kPad - 1) / kPad * kPad; }

// One worker's registers and uniforms in one precision.
template <class T>
class ProgramPass final : public TilePass {
 public:
  ProgramPass(const TileProgram& program, const RowSource& data, std::span<const double> p, std::size_t tile_rows,
              int outputs)
      : program_(program),
        data_(data),
        stride_(padded(tile_rows)),
        storage_(static_cast<std::size_t>(program.columns + program.registers) * padded(tile_rows)),
        vectors_(static_cast<std::size_t>(program.columns + program.registers)),
        columns_(static_cast<std::size_t>(outputs), nullptr) {
    std::vector<double> wide(static_cast<std::size_t>(program.uniforms));
    program.evaluate_uniforms(p, wide);
    uniforms_.assign(wide.begin(), wide.end());
    for (std::size_t v = 0; v < vectors_.size(); ++v) vectors_[v] = storage_.data() + v * stride_;
    KernelCounters fills;  // filling constants evaluates no row
    run(program.once, stride_, fills);
  }

  double* const* fill_f64(std::size_t first, std::size_t count, KernelCounters& counters) override {
    if constexpr (std::is_same_v<T, double>) return fill(first, count, counters);
    return nullptr;
  }
  float* const* fill_f32(std::size_t first, std::size_t count, KernelCounters& counters) override {
    if constexpr (std::is_same_v<T, float>) return fill(first, count, counters);
    return nullptr;
  }
  std::size_t bytes() const override { return vectors_.size() * stride_ * sizeof(T); }

 private:
  T* const* fill(std::size_t first, std::size_t count, KernelCounters& counters) {
    load(first, count);
    run(program_.code, count, counters);
    const std::size_t shift = columns_.size() - program_.outputs.size();
    for (std::size_t k = 0; k < program_.outputs.size(); ++k) {
      columns_[shift + k] = vectors_[static_cast<std::size_t>(program_.outputs[k])];
    }
    return columns_.data();
  }

  // Points column vectors at the data where they lie ready, else copies and converts.
  void load(std::size_t first, std::size_t count) {
    for (int c = 0; c < program_.columns; ++c) {
      const auto v = static_cast<std::size_t>(c);
      if (!program_.column_used[v]) continue;
      const T* direct = nullptr;
      // Kernels read whole groups of 64 rows; memory past the data must not be touched.
      if (first + padded(count) <= data_.rows()) direct = direct_rows(first, c);
      if (direct != nullptr) {
        vectors_[v] = const_cast<T*>(direct);  // programs never write to columns
        continue;
      }
      T* own = storage_.data() + v * stride_;
      data_.read(first, count, c, own);
      std::fill(own + count, own + padded(count), own[count - 1]);  // harmless values in the lanes beyond
      vectors_[v] = own;
    }
  }

  const T* direct_rows(std::size_t first, int column) const {
    if constexpr (std::is_same_v<T, double>) return data_.direct_f64(first, column);
    else return data_.direct_f32(first, column);
  }

  void run(const std::vector<Instruction>& code, std::size_t rows, KernelCounters& counters) {
    const KernelTable& table = kernels();
    if constexpr (std::is_same_v<T, double>) {
      table.run_f64(code.data(), code.size(), vectors_.data(), uniforms_.data(), rows, &counters);
    } else {
      table.run_f32(code.data(), code.size(), vectors_.data(), uniforms_.data(), rows, &counters);
    }
  }

  const TileProgram& program_;
  const RowSource& data_;
  std::size_t stride_;
  AlignedBuffer<T> storage_;
  std::vector<T> uniforms_;
  std::vector<T*> vectors_;
  std::vector<T*> columns_;
};

}  // namespace

ResidualPrograms ResidualPrograms::build(const ResidualSource& source, std::span<const int> free) {
  Graph graph;
  const NodeId residual = source.build(graph);
  ResidualPrograms programs;
  programs.residual = compile(graph, std::span(&residual, 1));
  std::vector<NodeId> outputs = differentiate(graph, residual, free);
  outputs.push_back(residual);
  programs.jacobian = compile(graph, outputs);
  return programs;
}

GraphRows::GraphRows(std::shared_ptr<ResidualSource> source, std::shared_ptr<const RowSource> data,
                     std::vector<double> parameters, std::vector<int> free)
    : source_(std::move(source)), data_(std::move(data)), parameters_(std::move(parameters)), free_(std::move(free)) {
  rebuild();
  tile_rows_ = static_cast<std::size_t>(std::min(programs_.residual.tile_rows, programs_.jacobian.tile_rows));
}

// Tiles keep their size when a branch is added: others hold ranges of them (SampleRows).
void GraphRows::rebuild() {
  programs_ = ResidualPrograms::build(*source_, free_);
}

double GraphRows::row_cost(Fill fill) const {
  return fill == Fill::residual ? programs_.residual.row_cost() : programs_.jacobian.row_cost();
}

std::vector<double> GraphRows::expand(std::span<const double> x) const {
  std::vector<double> p = parameters_;
  for (std::size_t j = 0; j < free_.size(); ++j) p[static_cast<std::size_t>(free_[j])] = x[j];
  return p;
}

std::unique_ptr<TilePass> GraphRows::begin(std::span<const double> x, Fill fill, bool single) const {
  const TileProgram& program = fill == Fill::residual ? programs_.residual : programs_.jacobian;
  const std::vector<double> p = expand(x);
  const int outputs = parameters() + 1;
  if (single) return std::make_unique<ProgramPass<float>>(program, *data_, p, tile_rows_, outputs);
  return std::make_unique<ProgramPass<double>>(program, *data_, p, tile_rows_, outputs);
}

// NaN may be a branch nobody has taken yet: find the first such row, record it, and run again. A
// handful of rounds suffice, since every round adds a branch.
RowModel::NonFinite GraphRows::explain_non_finite(std::span<const double> x, std::size_t first, std::size_t count) {
  bool known = true;
  Graph graph;
  const NodeId explored = source_->build_explored(graph, known);
  if (known) return NonFinite::genuine;
  const std::vector<double> p = expand(x);
  std::vector<double> row(static_cast<std::size_t>(data_->columns()));
  for (std::size_t i = first; i < first + count; ++i) {
    for (int c = 0; c < data_->columns(); ++c) data_->read(i, 1, c, &row[static_cast<std::size_t>(c)]);
    if (evaluate(graph, explored, row, p) != 0) continue;
    if (!source_->explore(row, p)) return NonFinite::give_up;
    rebuild();
    return NonFinite::retry;
  }
  return NonFinite::genuine;
}

void GraphRows::reference_residuals(std::span<const double> x, std::size_t first, std::size_t count,
                                    double* residuals, double* magnitudes) const {
  const std::vector<double> p = expand(x);
  const auto columns = static_cast<std::size_t>(data_->columns());
  std::vector<double> block(columns * count), row(columns);
  for (std::size_t c = 0; c < columns; ++c) data_->read(first, count, static_cast<int>(c), &block[c * count]);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t c = 0; c < columns; ++c) row[c] = block[c * count + i];
    residuals[i] = source_->reference(row, p, magnitudes[i]);
  }
}

}  // namespace nlsq::inline v0
