// The plain numbers at the start of a record, as many as follow one another, sixteen characters at once.
#pragma once

#include <cstddef>

namespace nlsq::cli {

// What is read of a record, and where it goes.
struct NumberRun {
  char delimiter = ',', decimal = '.';
  const int* slot_of = nullptr;  // of each column: its place among the chosen ones, or -1
  std::size_t columns = 0;
  double* out = nullptr;  // column of place k goes to out[k * stride]
  std::size_t stride = 0;
};

// Reads fields at `p` for as long as they are chosen and numbers that parse_decimal reads, right before a
// delimiter or, in the last column, a line feed. Those of at most 15 digits and a few more, with a decimal
// sign, are read here. Moves `p` behind the last of them and its delimiter or line feed and returns their
// number; what stands at `p` then is for others to read. 24 bytes behind every `p` must be readable.
using ReadNumberRun = std::size_t (*)(const char*& p, const NumberRun& run);

// Null where this CPU has no instructions for it (x86's SSE4.1).
ReadNumberRun number_run_reader() noexcept;

}  // namespace nlsq::cli
