// Handles Ctrl-C: the first stops the fit at its next iteration, the second ends the process.
#pragma once

namespace nlsq::cli {

void install_interrupt_handler();
bool interrupted() noexcept;

}  // namespace nlsq::cli
