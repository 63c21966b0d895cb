// Passes over many problems at once, one problem per lane.
#include "rows/lane_pass.hpp"

#include "kernels/flush_tiny.hpp"
#include "machine_code/program_steps.hpp"
#include "program/aligned_vector.hpp"

#include <algorithm>
#include <type_traits>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kStrip = 16;   // rows in a strip, so that its registers stay in the L1 cache
constexpr std::size_t kFlush = 512;  // largest number of rows summed in f32
constexpr std::size_t kBlock = 256;  // rows converted at once

std::size_t packed_size(std::size_t n1) { return n1 * (n1 + 1) / 2; }

// Returns how many numbers of format T fit into a vector register.
template <class T>
std::size_t vector_lanes() {
  return static_cast<std::size_t>(sizeof(T) == sizeof(double) ? kernels().lanes_f64 : kernels().lanes_f32);
}

template <class T>
std::vector<KernelStep> decoded(const std::vector<Instruction>& code) {
  std::vector<KernelStep> steps(code.size());
  steps.resize(kernels().of<T>().decode(code.data(), code.size(), steps.data()));
  return steps;
}

// Turns the prologue into vector instructions: all of its operands are uniforms.
std::vector<Instruction> on_vectors(std::vector<Instruction> prologue) {
  for (Instruction& in : prologue) {
    in.a = ~in.a;
    in.b = arity(in.op) > 1 ? ~in.b : 0;
    in.c = arity(in.op) > 2 ? ~in.c : 0;
  }
  return prologue;
}

template <class T>
class ProgramLanes final : public LanePass {
 public:
  ProgramLanes(const TileProgram& program, StepsCache& steps, std::size_t rows, std::size_t sampled,
               std::size_t fits)
      : program_(program), rows_(rows), lanes_(vector_lanes<T>()), n1_(program.outputs.size()),
        steps_(steps.get(1, program, {.f64 = std::is_same_v<T, double>, .lanes = true}, rows * fits)),
        once_(decoded<T>(program.once)), prologue_(decoded<double>(on_vectors(program.prologue))),
        columns_(static_cast<std::size_t>(program.columns) * rows * lanes_),
        registers_(static_cast<std::size_t>(program.registers) * kStrip * lanes_),
        uniforms_(static_cast<std::size_t>(program.uniforms) * lanes_),
        narrow_(std::is_same_v<T, double> ? 0 : static_cast<std::size_t>(program.uniforms) * lanes_),
        narrow_sums_(std::is_same_v<T, double> ? 0 : packed_size(n1_) * lanes_) {
    for (std::size_t v = 0; v < static_cast<std::size_t>(program.columns + program.registers); ++v) {
      const auto columns = static_cast<std::size_t>(program.columns);
      vectors_.push_back(v < columns ? column(v) : registers_.data() + (v - columns) * kStrip * lanes_);
    }
    for (std::size_t u = 0; u < static_cast<std::size_t>(program.uniforms); ++u) {
      std::fill_n(uniforms_.data() + u * lanes_, lanes_, program.initial_uniforms[u]);
      wide_.push_back(uniforms_.data() + u * lanes_);
    }
    outputs_.resize(n1_);
    steps.add_evaluated(1, std::is_same_v<T, double>, rows * fits);
    find_ones();
    sampled_.resize(std::min(sampled, rows));
    for (std::size_t k = 0; k < sampled_.size(); ++k)
      sampled_[k] = (2 * k + 1) * rows / (2 * sampled_.size());
    residuals_.resize(sampled_.size() * lanes_);
  }

  std::size_t lanes() const override { return lanes_; }

  void set_column(int c, std::size_t lane, const Column& values) override {
    if (used(c)) spread(values, column(static_cast<std::size_t>(c)) + lane, 1);
  }
  void share_column(int c, const Column& values) override {
    if (used(c)) spread(values, column(static_cast<std::size_t>(c)), lanes_);
  }

  void run(const double* parameters, double* sums, KernelCounters& counters) override {
    set(parameters);
    std::fill_n(sums, packed_size(n1_) * lanes_, 0.0);
    std::size_t next = 0, unflushed = 0;
    for (std::size_t row = 0; row < rows_; row += kStrip) {
      const std::size_t count = std::min(kStrip, rows_ - row);
      for (std::size_t c = 0; c < static_cast<std::size_t>(program_.columns); ++c)
        vectors_[c] = column(c) + row * lanes_;
      kernels().of<T>().run_lanes(steps_->steps().data(), steps_->steps().size(), vectors_.data(),
                                  lane_uniforms(), count, &counters);
      for (std::size_t j = 0; j < n1_; ++j)
        outputs_[j] = vectors_[static_cast<std::size_t>(program_.outputs[j])];
      for (; next < sampled_.size() && sampled_[next] < row + count; ++next) {
        std::copy_n(outputs_[n1_ - 1] + (sampled_[next] - row) * lanes_, lanes_,
                    residuals_.data() + next * lanes_);
      }
      const FlushTiny tiny(true);
      if constexpr (std::is_same_v<T, double>) {
        kernels().of<T>().lane_gram(outputs_.data(), static_cast<int>(n1_), ones_, count, sums, &counters);
      } else {
        kernels().of<T>().lane_gram(outputs_.data(), static_cast<int>(n1_), ones_, count, narrow_sums_.data(),
                                    &counters);
        unflushed += count;
        if (unflushed + kStrip <= kFlush && row + count < rows_) continue;
        flush(sums);
        unflushed = 0;
      }
    }
  }

  void residuals(std::size_t lane, double* out) const override {
    const T* from = residuals_.data() + lane;
    for (std::size_t k = 0; k < sampled_.size(); ++k, from += lanes_) out[k] = static_cast<double>(*from);
  }

 private:
  bool used(int c) const {
    return c < program_.columns && program_.column_used[static_cast<std::size_t>(c)] != 0;
  }
  T* column(std::size_t c) { return columns_.data() + c * rows_ * lanes_; }

  // Finds a derivative that is the constant 1.
  void find_ones() {
    for (const Instruction& fill : program_.once) {
      const auto computed = [&](const Instruction& in) { return in.dst == ~fill.a; };
      const auto is_parameter = std::ranges::count(program_.parameter_slot, ~fill.a) > 0;
      if (is_parameter || std::ranges::any_of(program_.prologue, computed) ||
          program_.initial_uniforms[static_cast<std::size_t>(~fill.a)] != 1)
        continue;
      for (std::size_t j = 0; j + 1 < n1_; ++j) {
        if (program_.outputs[j] == fill.dst) ones_ = static_cast<int>(j);
      }
    }
  }

  // Writes row i to out[i * lanes], `copies` times.
  void spread(const Column& values, T* out, std::size_t copies) {
    double block[kBlock];
    for (std::size_t first = 0; first < rows_; first += kBlock) {
      const std::size_t count = std::min(kBlock, rows_ - first);
      const double* read = values.direct_f64(first);
      if (read == nullptr) {
        values.read(first, count, block);
        read = block;
      }
      for (std::size_t i = 0; i < count; ++i)
        std::fill_n(out + (first + i) * lanes_, copies, static_cast<T>(read[i]));
    }
  }

  // Computes the uniforms at these parameters, and the registers that hold only uniforms.
  void set(const double* parameters) {
    for (std::size_t j = 0; j < program_.parameter_slot.size(); ++j) {
      if (program_.parameter_slot[j] >= 0)
        std::copy_n(parameters + j * lanes_, lanes_,
                    wide_[static_cast<std::size_t>(program_.parameter_slot[j])]);
    }
    KernelCounters of_no_row;
    const std::size_t vectors = lanes_ / vector_lanes<double>();
    if (!prologue_.empty())
      kernels().f64.run_lanes(prologue_.data(), prologue_.size(), wide_.data(), nullptr, vectors, &of_no_row);
    if constexpr (!std::is_same_v<T, double>) {
      kernels().narrow(uniforms_.data(), narrow_.data(),
                       static_cast<std::size_t>(program_.uniforms) * lanes_);
    }
    if (!once_.empty())
      kernels().of<T>().run_lanes(once_.data(), once_.size(), vectors_.data(), lane_uniforms(), kStrip,
                                  &of_no_row);
  }

  const T* lane_uniforms() const {
    if constexpr (std::is_same_v<T, double>) return uniforms_.data();
    else return narrow_.data();
  }

  void flush(double* sums) {
    T* from = narrow_sums_.data();
    for (std::size_t k = 0; k < packed_size(n1_) * lanes_; ++k) {
      sums[k] += static_cast<double>(from[k]);
      from[k] = 0;
    }
  }

  const TileProgram& program_;
  std::size_t rows_, lanes_, n1_;
  std::shared_ptr<const ProgramSteps> steps_;
  std::vector<KernelStep> once_, prologue_;
  AlignedVector<T> columns_, registers_;
  AlignedVector<double> uniforms_;
  AlignedVector<T> narrow_, narrow_sums_;  // only for f32
  std::vector<T*> vectors_;
  std::vector<double*> wide_;  // the uniforms, as vectors of the prologue
  std::vector<const T*> outputs_;
  std::vector<T> residuals_;
  int ones_ = -1;  // index of a column of ones
};

}  // namespace

std::unique_ptr<LanePass> LanePass::make(const TileProgram& jacobian, StepsCache& steps, std::size_t rows,
                                         std::size_t sampled, bool single, std::size_t fits) {
  if (single) return std::make_unique<ProgramLanes<float>>(jacobian, steps, rows, sampled, fits);
  return std::make_unique<ProgramLanes<double>>(jacobian, steps, rows, sampled, fits);
}

}  // namespace nlsq::inline v0
