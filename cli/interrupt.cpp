// Implements the handling of signals.
#include "interrupt.hpp"

#include "errors.hpp"
#include "progress.hpp"

#include <limits.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <string_view>

namespace nlsq::cli {

namespace {

// The handler may run on any thread, at any time. It reads only lock-free atomics and static memory.
std::atomic<int> signals_seen = 0, ends_at_once = 0;
static_assert(std::atomic<int>::is_always_lock_free);

struct Slot {
  std::atomic<int> state = 0;  // 0 free, 1 being written, 2 used
  std::array<char, PATH_MAX> path{};
};
std::array<Slot, 8> slots;

extern "C" void note_interrupt(int) {
  if (signals_seen.fetch_add(1) == 0 && ends_at_once == 0) return;
  for (Slot& slot : slots) {
    if (slot.state == 2) ::unlink(slot.path.data());
  }
  if (progress_line_shown() && ::write(STDERR_FILENO, kClearLine.data(), kClearLine.size()) < 0) {
    // There is no other place for it.
  }
  constexpr std::string_view kMessage = "nlsq-fit: interrupted; unfinished outputs were removed\n";
  if (ends_at_once != 0 && ::write(STDERR_FILENO, kMessage.data(), kMessage.size()) < 0) {
    // There is no other place for the message.
  }
  ::_exit(kExitInterrupted);
}

}  // namespace

void install_interrupt_handler() {
  struct sigaction action = {};
  action.sa_handler = note_interrupt;
  sigfillset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on the size of files is an error of the file, with a message
  struct sigaction before = {};
  sigaction(SIGHUP, nullptr, &before);
  if (before.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);  // nohup stays in force
}

bool interrupted() noexcept { return signals_seen != 0; }

EndsAtOnce::EndsAtOnce() noexcept { ++ends_at_once; }
EndsAtOnce::~EndsAtOnce() { --ends_at_once; }

UnfinishedFile::UnfinishedFile(const std::string& path) noexcept {
  if (path.size() >= PATH_MAX) return;
  for (std::size_t k = 0; k < slots.size(); ++k) {
    int free = 0;
    if (!slots[k].state.compare_exchange_strong(free, 1)) continue;
    std::memcpy(slots[k].path.data(), path.c_str(), path.size() + 1);
    slots[k].state = 2;
    slot_ = static_cast<int>(k);
    return;
  }
}

UnfinishedFile::~UnfinishedFile() {
  if (slot_ >= 0) slots[static_cast<std::size_t>(slot_)].state = 0;
}

}  // namespace nlsq::cli
