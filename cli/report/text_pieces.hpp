// Writes a long text whose pieces are formed on several threads. The outputs of groups use it.
#pragma once

#include "report/output_file.hpp"

#include <cstddef>
#include <functional>
#include <string>

namespace nlsq::cli {

// Writes piece(0) to piece(count - 1) in this order. Pieces are formed at the same time, on at most `threads`
// threads; 0: as many as there are.
void write_pieces(OutputFile& file, std::size_t count, int threads,
                  const std::function<std::string(std::size_t)>& piece);

}  // namespace nlsq::cli
