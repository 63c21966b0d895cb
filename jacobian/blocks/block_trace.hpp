// Residual blocks recorded once and replayed: blocks of one kind run the same operations on numbers of their
// own.
//
// Constants are told apart by where they occur, never by value: the blocks that follow a recording to its
// end, decisions included, share one program, and the constants they met become columns of data.
#pragma once

#include "blocks/block_reference.hpp"
#include "recording/tape.hpp"

#include <span>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

struct BlockTraceLimits {
  std::size_t max_guards = 64, max_variants = 8, max_length = 100000;
};

// What one call left behind. Inputs are columns 0, 1, ... of the tape, parameter blocks side by side.
struct BlockRecording {
  std::vector<TapeStep> steps;
  std::vector<TapeGuard> guards;
  std::vector<std::uint32_t> outputs;  // step of each residual
  bool success = true;                 // what the function returned
  std::string reason;                  // why it cannot be recorded; empty where it can
  std::size_t constants = 0;           // constant steps
};

// What a block that follows the recording computes is known no better than this: bounds of its rounding at x,
// residual by residual, to first order. `constants`: those it met. Another program of the same function may
// differ from it by some times as much.
void bound_rounding(const BlockRecording& recording, const double* x, std::span<const double> constants,
                    double* bounds);

// Calls blocks of one shape along recordings.
class BlockReplay {
 public:
  explicit BlockReplay(std::span<const int> sizes) : caller_(sizes) {}
  // Whether the block does at x what was recorded, to the end. `constants`, room for as many as the recording
  // has: those met.
  bool follow(const BlockRecording& recording, const BlockFunction& function, const double* x,
              double* constants);
  BlockRecording record(const BlockFunction& function, const double* x, const BlockTraceLimits& limits);

 private:
  bool call(Tape& tape, const BlockFunction& function,
            const double* x);  // into results_; what the function returned

  BlockCaller caller_;
  std::vector<Traced> inputs_, results_;
};

// All recordings of one kind of block.
class BlockFamily {
 public:
  static constexpr int kNone = -1;

  BlockFamily(std::span<const int> sizes, BlockTraceLimits limits = {}) : replay_(sizes), limits_(limits) {}

  // Which recording the block follows at x (its parameters side by side); made where there is none yet,
  // twice, to see that it repeats. `constants` are those met, in the recording's order. kNone: it cannot be
  // recorded, and reason() says why; the next block may fare better.
  int follow(const BlockFunction& function, const double* x, std::vector<double>& constants);

  const std::vector<BlockRecording>& recordings() const { return recordings_; }
  // Forgets the others; what is left moves up.
  void keep_only(std::span<const std::uint8_t> marked);
  const std::string& reason() const { return reason_; }

 private:
  BlockReplay replay_;
  BlockTraceLimits limits_;
  std::vector<BlockRecording> recordings_;
  std::size_t latest_ = 0;  // the next block is most often like the last one
  std::string reason_;
};

}  // namespace nlsq::inline v0
