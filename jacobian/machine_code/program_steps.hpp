// The steps that run a tile program: decoded for the interpreter, or machine code generated for it.
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
  // Holds nothing if the system does not allow it.
  explicit ExecutableMemory(std::span<const std::uint8_t> code) noexcept;
  ~ExecutableMemory();
  ExecutableMemory(ExecutableMemory&& other) noexcept;
  ExecutableMemory& operator=(ExecutableMemory&& other) noexcept;

  // The first byte of the code, at the start of a page; null if this holds nothing.
  const void* code() const { return memory_; }

 private:
  void* memory_ = nullptr;
  std::size_t size_ = 0;
};

// How a program is run.
struct StepsRequest {
  bool f64 = true;                // else f32
  bool lanes = false;             // each lane is a problem of its own, with uniforms of its own
  bool generate = false;          // machine code where it can be had
  std::uint64_t f64_columns = 0;  // f32: bit c is set if column c is to be given as doubles
  friend bool operator==(const StepsRequest&, const StepsRequest&) = default;
};

// How many elements the vectors of a tile should be apart beyond their length: a cache line. Otherwise the
// same row of all of them would be in one set of the L1 cache, which code that uses them all at once would
// overfill.
template <class T>
inline constexpr std::size_t vectors_apart = 64 / sizeof(T);

// True if so many rows repay the generation of code. A fit generates some four programs, which takes 50 to
// 150 µs, makes a few passes over its rows, and saves some 0.3 ns a row and pass.
constexpr bool repays_code(std::size_t rows) { return rows >= std::size_t(1) << 18; }

class NLSQ_API ProgramSteps {
 public:
  ProgramSteps(const TileProgram& program, const StepsRequest& request);
  // Steps hold pointers to this object.
  ProgramSteps(const ProgramSteps&) = delete;
  ProgramSteps& operator=(const ProgramSteps&) = delete;

  std::span<const KernelStep> steps() const { return steps_; }
  std::size_t generated_runs() const { return pieces_.size(); }
  // True if the column must be given as doubles. A column that a step of the interpreter reads must not.
  bool reads_f64(int column) const { return column < 64 && f64_columns_ >> column & 1; }

 private:
  // A run of instructions as machine code, and what it points to.
  struct Piece {
    GeneratedCode code;
    std::vector<KernelStep> steps;
    std::size_t place = 0;  // of the code, in memory_
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

// The steps of the two programs of a model, each made when it is first asked for. Threads may ask at the same
// time.
class NLSQ_API StepsCache {
 public:
  // `number`, 0 or 1, tells the programs apart. Code is generated if `rows`, which are about to be evaluated,
  // and those that the program has evaluated in this format repay it.
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
