// Implements the line of progress. The counts are atomics; only the thread that writes takes the lock.
#include "progress.hpp"

#include <fmt/format.h>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>

namespace nlsq::cli {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kFirst{500}, kNext{100};  // on a terminal
constexpr milliseconds kLine{2000};              // between lines elsewhere

struct Part {
  std::string what;
  bool bytes = false;
  Clock::time_point begin;
};

bool shown = false, is_terminal = false;  // fixed before the work begins
std::mutex writing;
Part part;
std::atomic<bool> alive = false, line_shown = false;
std::atomic<std::uint64_t> done = 0, total = 0, rows = 0;
std::atomic<int> iteration = 0, starts = 0;
std::atomic<double> cost = 0;
std::atomic<std::int64_t> next_time = 0;  // in the clock's ticks
static_assert(std::atomic<bool>::is_always_lock_free);

std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<std::size_t>(at), 1, ',');
  return text;
}

std::string bytes_text(std::uint64_t bytes, std::uint64_t all) {
  if (all < 10'000) return grouped(bytes) + " bytes";
  return all < 10'000'000 ? grouped(bytes / 1000) + " kB" : grouped(bytes / 1'000'000) + " MB";
}

std::string time_left(double seconds) {
  if (seconds < 120) return fmt::format(", about {:.0f} s left", seconds + 0.5);
  return fmt::format(", about {:.0f} min left", seconds / 60 + 0.5);
}

// Returns the text about the current part of the work. The caller holds the lock.
std::string words() {
  std::string text = part.what + ":";
  const std::uint64_t finished = done, all = total, read = rows;
  if (starts > 0) {
    if (starts > 1) text += fmt::format(" start {},", starts.load());
    return text + fmt::format(" iteration {}, cost {:.6g}", iteration.load(), cost.load());
  }
  if (read > 0) text += fmt::format(" {} rows,", grouped(read));
  text += " " + (part.bytes ? bytes_text(finished, std::max(all, finished)) : grouped(finished));
  if (all == 0) return text;
  text += " of " + (part.bytes ? bytes_text(all, all) : grouped(all));
  const double seconds = std::chrono::duration<double>(Clock::now() - part.begin).count();
  const double share = static_cast<double>(finished) / static_cast<double>(all);
  if (seconds >= 1 && share >= 0.01 && share < 1) text += time_left(seconds * (1 - share) / share);
  return text;
}

void write_text(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(STDERR_FILENO, text.data(), text.size());
    if (n <= 0) return;  // stderr cannot be written
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

std::size_t line_width() {
  winsize size = {};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1u : 79;
}

void write_line() {
  std::string text = words();
  if (!is_terminal) return write_text("nlsq-fit: " + text + "\n");
  if (text.size() > line_width()) text.resize(line_width());
  write_text(std::string(kClearLine) + text);
  line_shown = true;
}

void write_if_due() {
  if (!alive) return;
  const std::int64_t now = Clock::now().time_since_epoch().count();
  if (now < next_time.load(std::memory_order_relaxed)) return;
  const std::unique_lock lock(writing, std::try_to_lock);
  if (!lock || !alive || now < next_time) return;
  next_time = now + Clock::duration(is_terminal ? kNext : kLine).count();
  write_line();
}

}  // namespace

void choose_progress(ProgressChoice choice, bool quiet) {
  is_terminal = ::isatty(STDERR_FILENO) == 1;
  shown = choice == ProgressChoice::on || (choice == ProgressChoice::automatic && is_terminal && !quiet);
}

ProgressPart::ProgressPart(std::string what, std::uint64_t all, bool bytes) {
  if (!shown) return;
  const std::lock_guard lock(writing);
  part = {std::move(what), bytes, Clock::now()};
  done = rows = 0;
  total = all;
  iteration = starts = 0;
  next_time = (part.begin + (is_terminal ? kFirst : kLine)).time_since_epoch().count();
  alive = true;
}

ProgressPart::~ProgressPart() {
  if (!alive) return;
  const std::lock_guard lock(writing);
  alive = false;
  if (!is_terminal) write_line();
  else if (line_shown) write_text(kClearLine);
  line_shown = false;
}

void progress_done(std::uint64_t more) {
  if (!shown) return;
  done += more;
  write_if_due();
}

void progress_of(std::uint64_t more, std::uint64_t all) {
  if (!shown) return;
  total = all;
  progress_done(more);
}

void progress_rows(std::uint64_t more) {
  if (shown) rows += more;
}

void progress_iteration(int number, double value) {
  if (!shown) return;
  if (number <= iteration || starts == 0) ++starts;  // the numbers begin at 0 again with each start
  iteration = number;
  cost = value;
  write_if_due();
}

bool progress_line_shown() noexcept { return line_shown; }

}  // namespace nlsq::cli
