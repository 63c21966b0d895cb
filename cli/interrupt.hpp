// Ctrl-C: the first asks the fit to stop at its next iteration, a second one ends the process.
#pragma once

namespace nlsq::cli {

void install_interrupt_handler();
bool interrupted() noexcept;

}  // namespace nlsq::cli
