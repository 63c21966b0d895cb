// Implements read_blocks(): on the calling thread, or in a pipeline on oneTBB's threads.
#include "table/csv/csv_pipeline.hpp"

#if NLSQ_WITH_TBB
#include "table/csv/tbb_pipeline.hpp"

#include <mutex>
#include <vector>
#endif

#include <memory>

namespace nlsq::cli {

namespace {

// Holds a block in the pipeline and its parsed rows.
struct Load {
  Block block;
  CsvRows rows;

  void parse(const CsvLayout& layout, const CsvCollector& collector) {
    check_block(block);
    rows.parse(layout, collector.view(block));
  }
};

#if NLSQ_WITH_TBB
// Reusable loads. There are no more than are in the pipeline at once.
class Loads {
 public:
  Load* take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (free_.empty()) {
      all_.push_back(std::make_unique<Load>());
      return all_.back().get();
    }
    Load* const load = free_.back();
    free_.pop_back();
    return load;
  }
  void give_back(Load* load) {
    const std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(load);
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Load>> all_;
  std::vector<Load*> free_;
};

void read_in_parallel(BlockSource& source, const CsvLayout& layout, CsvCollector& collector, int threads) {
  Loads loads;
  Stages stages;
  stages.first = [&]() -> void* {
    Load* const load = loads.take();
    return source.next(load->block) ? load : nullptr;
  };
  stages.middle = [&](void* item) { static_cast<Load*>(item)->parse(layout, collector); };
  stages.last = [&](void* item) {
    Load* const load = static_cast<Load*>(item);
    collector.accept(load->block, load->rows);
    loads.give_back(load);
  };
  run_tbb_pipeline(threads, 2 * static_cast<std::size_t>(threads), stages);
}
#endif

}  // namespace

void read_blocks(BlockSource& source, const CsvLayout& layout, CsvCollector& collector, int threads) {
  Load load;
  for (bool first = true; source.next(load.block); first = false) {
    load.parse(layout, collector);
    collector.accept(load.block, load.rows);
#if NLSQ_WITH_TBB
    if (!first || load.block.end != BlockEnd::cut) continue;
    const int wanted = tbb_threads(threads);
    if (wanted > 1) return read_in_parallel(source, layout, collector, wanted);
#else
    (void)first, (void)threads;
#endif
  }
}

}  // namespace nlsq::cli
