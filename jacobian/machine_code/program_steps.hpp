// Declares the steps that run a tile program: decoded for the interpreter, or machine code generated for it.
//
//  Generated code keeps the values of a row in registers, where the interpreter writes the result of each
//  step to memory. It executes the same operations in the same order, so it computes the same bits. A run of
//  instructions becomes one step. Functions without inline code (gamma, atan2 and others) remain steps of the
//  interpreter between two runs.
#pragma once

#include "kernels/kernel_table.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

// Holds machine code. The memory is writable while the code is copied and executable afterwards, never both.
class ExecutableMemory {
 public:
  ExecutableMemory() = default;
  // This object holds nothing if the system does not allow executable memory.
  explicit ExecutableMemory(std::span<const std::uint8_t> code) noexcept;
  ~ExecutableMemory();
  ExecutableMemory(ExecutableMemory&& other) noexcept;
  ExecutableMemory& operator=(ExecutableMemory&& other) noexcept;

  // Returns the first byte of the code, at the start of a page, or null if this holds nothing.
  const void* code() const { return memory_; }

 private:
  void* memory_ = nullptr;
  std::size_t size_ = 0;
};

// Holds the ways in which a program can be run.
struct StepsRequest {
  bool f64 = true;                // f64 or f32
  bool lanes = false;             // each lane is a problem of its own, with uniforms of its own
  bool generate = false;          // true to generate machine code where possible
  std::uint64_t f64_columns = 0;  // f32: bit c is set if column c is to be given as doubles
  friend bool operator==(const StepsRequest&, const StepsRequest&) = default;
};

// This gap separates the vectors of a tile, in elements. It is a cache line. Without it, the same row of all
// vectors would be in one set of the L1 cache, which is too small for code that uses them all at once.
template <class T>
inline constexpr std::size_t vectors_apart = 64 / sizeof(T);

// Returns true if so many rows repay the generation of code. A fit generates some four programs, which takes
// 50 to 150 µs, makes a few passes over its rows, and saves some 0.3 ns a row and pass.
constexpr bool repays_code(std::size_t rows) { return rows >= std::size_t(1) << 18; }

class NLSQ_API ProgramSteps {
 public:
  ProgramSteps(const TileProgram& program, const StepsRequest& request);
  // This cannot be copied, because steps hold pointers to this object.
  ProgramSteps(const ProgramSteps&) = delete;
  ProgramSteps& operator=(const ProgramSteps&) = delete;

  std::span<const KernelStep> steps() const { return steps_; }
  std::size_t generated_runs() const { return pieces_.size(); }
  // Returns true if the column must be given as doubles. It is false if a step of the interpreter reads the
  // column.
  bool reads_f64(int column) const { return column < 64 && f64_columns_ >> column & 1; }

 private:
  // A run of instructions as machine code, and the data that it needs.
  struct Piece {
    GeneratedCode code;
    std::vector<KernelStep> steps;
    std::size_t place = 0;  // offset of the code in memory_
  };

  bool generate(const TileProgram& program);
  void choose_f64_columns(const TileProgram& program);
  void decode(std::span<const Instruction> code, std::vector<KernelStep>& out) const;

  StepsRequest request_;
  std::uint64_t f64_columns_ = 0;
  std::vector<std::int32_t> f64_list_;  // the same columns
  std::vector<KernelStep> steps_;
  std::vector<std::unique_ptr<Piece>> pieces_;
  ExecutableMemory memory_;
};

// Holds the steps of the two programs of a model, or of a kind of residual block. Each is made when it is
// first requested. Several threads may request steps at the same time.
class NLSQ_API StepsCache {
 public:
  // `number`, 0 or 1, selects the program. Code is generated if the `rows` that are about to be evaluated and
  // those that the program has evaluated in this format repay it.
  std::shared_ptr<const ProgramSteps> get(int number, const TileProgram& program, StepsRequest request,
                                          std::size_t rows);
  void add_evaluated(int number, bool f64, std::size_t rows);

 private:
  struct Entry {
    int number;
    StepsRequest request;
    const KernelTable* table;
    std::shared_ptr<const ProgramSteps> steps;
  };
  std::mutex mutex_;
  std::size_t evaluated_[2][2] = {};  // rows, by the number of the program and the format
  std::vector<Entry> entries_;
};

}  // namespace nlsq::inline v0
