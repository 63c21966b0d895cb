// How a run of nlsq-fit can fail before or beside the fit itself; each kind has its exit status.
#pragma once

#include <stdexcept>
#include <string>

namespace nlsq::cli {

enum ExitStatus : int {
  kExitConverged = 0,  // verdict CONVERGED, NOISE_FLOOR or RANK_DEFICIENT
  kExitEnded = 1,      // ended without; the best parameters are printed all the same
  kExitUsage = 2,      // the command line or the model
  kExitBadData = 3,    // the data, memory, or an output that cannot be written
  kExitInterrupted = 130
};

// The command line or the model is at fault.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The input is at fault: the message carries `file:line:column` where there is one.
struct BadData : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// An output could not be written; what was there before is still there.
struct OutputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Ctrl-C while reading: there is no best-so-far to print yet.
struct Interrupted : std::runtime_error {
  Interrupted() : std::runtime_error("interrupted") {}
};

}  // namespace nlsq::cli
