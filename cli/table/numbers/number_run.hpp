// Parses the consecutive plain numbers at the start of a record, sixteen characters at once. RecordParser
// uses it.
#pragma once

#include <cstddef>

namespace nlsq::cli {

// Holds the format of a record and the destination of its numbers.
struct NumberRun {
  char delimiter = ',', decimal = '.';
  const int* slot_of = nullptr;  // index of each column among the chosen ones, or -1
  std::size_t columns = 0;
  double* out = nullptr;  // chosen column k goes to out[k * stride]
  std::size_t stride = 0;
};

// Reads fields at `p`, of which the first is that of column `first`, while they are chosen columns and
// numbers that parse_decimal reads, directly followed by a delimiter or, in the last column, a line feed.
// Numbers of at most 15 digits and some longer ones with a decimal sign are parsed here. Moves `p` past the
// last of them and its delimiter or line feed, and returns the column of the next. The caller parses what
// follows. 24 bytes after every `p` must be readable.
using ReadNumberRun = std::size_t (*)(const char*& p, const NumberRun& run, std::size_t first);

// Returns null if this CPU lacks the instructions (SSE4.1 on x86).
ReadNumberRun number_run_reader() noexcept;

}  // namespace nlsq::cli
