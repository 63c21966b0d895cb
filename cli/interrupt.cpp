// Implements the handling of Ctrl-C.
#include "interrupt.hpp"

#include <csignal>

namespace nlsq::cli {

namespace {

volatile std::sig_atomic_t interrupt_seen = 0;

extern "C" void note_interrupt(int) { interrupt_seen = 1; }

}  // namespace

void install_interrupt_handler() {
  struct sigaction action = {};
  action.sa_handler = note_interrupt;
  // Restores the default action after the first signal, so that a second Ctrl-C always ends the process.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
}

bool interrupted() noexcept { return interrupt_seen != 0; }

}  // namespace nlsq::cli
