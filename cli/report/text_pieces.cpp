// Implements write_pieces().
#include "report/text_pieces.hpp"

#if NLSQ_WITH_TBB
#include "table/csv/tbb_pipeline.hpp"

#include <utility>
#include <vector>
#endif

namespace nlsq::cli {

void write_pieces(OutputFile& file, std::size_t count, int threads,
                  const std::function<std::string(std::size_t)>& piece) {
#if NLSQ_WITH_TBB
  const int wanted = tbb_threads(threads);
  if (wanted > 1 && count > 1) {
    std::vector<std::string> texts(count);
    std::size_t begun = 0;
    Stages stages;
    stages.first = [&]() -> void* { return begun < count ? &texts[begun++] : nullptr; };
    stages.middle = [&](void* item) {
      std::string& text = *static_cast<std::string*>(item);
      text = piece(static_cast<std::size_t>(&text - texts.data()));
    };
    stages.last = [&](void* item) { file.write(std::exchange(*static_cast<std::string*>(item), {})); };
    return run_tbb_pipeline(wanted, 2 * static_cast<std::size_t>(wanted), stages);
  }
#else
  (void)threads;
#endif
  for (std::size_t k = 0; k < count; ++k) file.write(piece(k));
}

}  // namespace nlsq::cli
