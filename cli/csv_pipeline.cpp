#include "csv_pipeline.hpp"

#if NLSQ_WITH_TBB
#include <tbb/info.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <mutex>
#include <vector>
#endif

#include <memory>

namespace nlsq::cli {

namespace {

// A block on its way.
struct Load {
  Block block;
  CsvRows rows;

  void parse(const CsvLayout& layout, const CsvCollector& collector) {
    check_block(block);
    rows.parse(layout, collector.view(block));
  }
};

#if NLSQ_WITH_TBB
// Loads to be used again: no more are made than are on their way at once.
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
  const auto read = [&](tbb::flow_control& flow) -> Load* {
    Load* const load = loads.take();
    if (source.next(load->block)) return load;
    flow.stop();
    return nullptr;
  };
  const auto parse = [&](Load* load) {
    load->parse(layout, collector);
    return load;
  };
  const auto collect = [&](Load* load) {
    collector.accept(load->block, load->rows);
    loads.give_back(load);
  };
  constexpr auto kInOrder = tbb::filter_mode::serial_in_order;
  tbb::task_arena arena(threads);
  arena.execute([&] {
    tbb::parallel_pipeline(2 * static_cast<std::size_t>(threads),
                           tbb::make_filter<void, Load*>(kInOrder, read) &
                               tbb::make_filter<Load*, Load*>(tbb::filter_mode::parallel, parse) &
                               tbb::make_filter<Load*, void>(kInOrder, collect));
  });
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
    const int most = tbb::info::default_concurrency();
    const int wanted = threads == 0 ? most : std::min(threads, most);
    if (wanted > 1) return read_in_parallel(source, layout, collector, wanted);
#else
    (void)first, (void)threads;
#endif
  }
}

}  // namespace nlsq::cli
