// Records of J in f64, of which some windows are kept and the others evaluated again whenever they are read.
// They are evaluated as the first time, with the same programs at the same x, so they have the same bits.
// BlockModel uses it where the derivatives are large (RecordWindows).
//
//  A window is kept if one of its blocks uses the user's own code, or has left its program at x: so user code
//  is
//  not called more often than without windows.
#pragma once

#include "blocks/record_finish.hpp"
#include "blocks/windows/record_reader.hpp"
#include "blocks/windows/record_windows.hpp"
#include "program/aligned_vector.hpp"
#include "support/idle_pool.hpp"
#include "support/parallel.hpp"

#include <atomic>
#include <memory>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

class WindowedRecords final : public RecordReader<double> {
 public:
  // All arguments must outlive the object.
  WindowedRecords(const BlockStructure& structure, const BlockEvaluator& evaluator,
                  IdlePool<BlockPass>& passes, const RecordFinish& finish);

  // Returns false if the records of this problem are not cut; then nothing else may be called.
  bool in_use() const { return windows_.any(); }
  // Evaluates and completes the windows that are kept. `x` must not change until the next call.
  void linearize(std::span<const double> x, const Parallelism& parallelism);
  // Number of blocks that left their program, in all windows that were evaluated at x so far.
  std::size_t left() const { return left_; }
  // Evaluates the other windows and keeps them until the next linearize(). Call before the programs change.
  void keep_all();
  // Must be called when the programs have changed. From then on, reading any window before the next
  // linearize() is an error.
  void forget() { valid_ = false; }
  // Sets the columns that bounds hold to zero in the windows that are kept.
  void clear_held();

  void visit(std::size_t chunk, const Work& work) override;
  void sweep(const Work& work) override;
  const double* whole() const override { return nullptr; }

  std::size_t bytes() const;

 private:
  using Window = RecordWindows::Window;
  struct Scratch {
    AlignedVector<double> records, ambient;
  };
  using Borrowed = IdlePool<Scratch>::Loan;

  std::unique_ptr<Scratch> make_scratch() const;
  void choose();
  bool is_kept(std::size_t window) const { return !again_[window] || !late_[window].empty(); }
  RecordTarget<double> target_of(const Window& window, double* records, Scratch& scratch) const;
  RecordView<double> kept(std::size_t window) const;
  RecordView<double> evaluate_again(std::size_t window, Scratch& scratch);
  std::size_t evaluate(const Window& window, const RecordTarget<double>& to);
  void keep(std::size_t window, const double* records);
  void check() const;

  const BlockStructure& structure_;
  const BlockEvaluator& evaluator_;
  IdlePool<BlockPass>& passes_;
  const RecordFinish& finish_;
  const RecordWindows windows_;
  Parallelism parallelism_;
  std::span<const double> x_;
  bool valid_ = false;
  std::vector<std::uint8_t> again_;        // by window
  std::vector<std::uint64_t> place_;       // of each window in kept_
  std::vector<double> kept_;               // the windows that are kept at every x
  std::vector<std::vector<double>> late_;  // those that are kept at this x alone
  std::atomic<std::size_t> left_ = 0;
  IdlePool<Scratch> scratches_{[this] { return make_scratch(); }};
};

}  // namespace nlsq::inline v0
