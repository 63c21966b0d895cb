// Writes the progress of long work on stderr: rows read, fits made, iterations, and the time that is left.
//
// On a terminal it is one line, which is written over, and cleared when the part of the work ends; it appears
// after half a second. Elsewhere every message is a line of its own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nlsq::cli {

enum class ProgressChoice : std::uint8_t {
  automatic,  // on a terminal, unless the user wants no report
  on,
  off
};

// Is called once, before the work begins.
void choose_progress(ProgressChoice choice, bool quiet);

// This is a part of the work, which lasts as long as this object. There is at most one at a time.
class ProgressPart {
 public:
  // `what` is in front of the line, as in "fitting groups". `total` is how many of them there are, or how
  // many bytes there are to read; 0 if that is not known.
  explicit ProgressPart(std::string what, std::uint64_t total = 0, bool bytes = false);
  ProgressPart(const ProgressPart&) = delete;
  ProgressPart& operator=(const ProgressPart&) = delete;
  ~ProgressPart();
};

// These change the current part. Without one they do nothing. Any thread may call them.
void progress_done(std::uint64_t more);                     // so many more are done
void progress_of(std::uint64_t more, std::uint64_t total);  // so many more are done, of `total`
void progress_rows(std::uint64_t more);                     // so many more rows are read
void progress_iteration(int iteration, double cost);        // of the current fit

// Returns true if a line is on the terminal now. A signal handler may call this.
bool progress_line_shown() noexcept;
inline constexpr std::string_view kClearLine = "\r\x1b[K";

}  // namespace nlsq::cli
