// Records the function of a residual block once and replays it for other blocks of its kind, which perform
// the same operations on different numbers.
//
// Constants are identified by their position, never by their value. Blocks that perform the operations of a
// recording to its end, branches included, share one program, and their constants become columns of data.
#pragma once

#include "blocks/block_reference.hpp"
#include "recording/tape.hpp"
#include "recording/trace.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

// Holds the recording of one call. Its inputs are columns 0, 1, ... of the tape, one parameter block after
// another.
struct BlockRecording : Recording {
  bool success = true;        // what the function returned
  std::size_t constants = 0;  // number of constant steps
};

// Bounds the rounding error at x of each residual of a block that performs the recorded operations, to first
// order. `constants` are the block's own. Another program for the same function may differ by a small
// multiple of the bound. Such a bound assumes that all errors have the same sign, so it grows exponentially
// along a recurrence. Therefore it is at most `most` roundings of the largest number on the way, which makes
// it an estimate if `most` is finite.
void bound_rounding(const BlockRecording& recording, const double* x, std::span<const double> constants,
                    double* bounds, double most);

// Calls blocks with the same parameter sizes and compares them with recordings.
class BlockReplay {
 public:
  explicit BlockReplay(std::span<const int> sizes) : caller_(sizes) {}
  // Returns true if the block performs exactly the recorded operations at x. Writes the block's constants to
  // `constants`, which has room for as many as the recording has.
  bool follow(const BlockRecording& recording, const BlockFunction& function, const double* x,
              double* constants);
  // Tries `recordings` in turn, from number `first` on. Returns the number of the first one that the block
  // follows, or nothing if there is none. `constants` receives the block's own constants.
  std::optional<std::size_t> find(std::span<const BlockRecording> recordings, std::size_t first,
                                  const BlockFunction& function, const double* x,
                                  std::vector<double>& constants);
  BlockRecording record(const BlockFunction& function, const double* x, const TraceLimits& limits);
  // Records the block at x, for the bounds of its rounding errors alone. Returns false if that is not
  // possible.
  bool bound(const BlockFunction& function, const double* x, double* bounds, double most);

 private:
  bool call(Tape& tape, const BlockFunction& function,
            const double* x);  // writes results_ and returns what the function returned

  BlockCaller caller_;
  std::vector<Traced> inputs_, results_;
};

// Holds all recordings of one kind of block.
class BlockFamily {
 public:
  static constexpr int kNone = -1;

  BlockFamily(std::span<const int> sizes, TraceLimits limits = {}) : replay_(sizes), limits_(limits) {}

  // Returns the recording that the block follows at x, where x holds its parameters one after another. If
  // there is none, the block is recorded twice, to check that it repeats. `constants` receives the block's
  // own, in the order of the recording. Returns kNone if it cannot be recorded; reason() says why. Later
  // blocks may still succeed.
  int follow(const BlockFunction& function, const double* x, std::vector<double>& constants);

  const std::vector<BlockRecording>& recordings() const { return recordings_; }
  // Removes the unmarked recordings. The others keep their order and get smaller numbers.
  void keep_only(std::span<const std::uint8_t> marked);
  const std::string& reason() const { return reason_; }

 private:
  BlockReplay replay_;
  TraceLimits limits_;
  std::vector<BlockRecording> recordings_;
  std::size_t latest_ = 0;  // most blocks follow the same recording as the block before
  std::string reason_;
};

}  // namespace nlsq::inline v0
