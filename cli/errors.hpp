// Defines the exceptions of nlsq-fit and its exit statuses.
#pragma once

#include <stdexcept>
#include <string>

namespace nlsq::cli {

enum ExitStatus : int {
  kExitConverged = 0,  // verdict CONVERGED, NOISE_FLOOR or RANK_DEFICIENT
  kExitEnded = 1,      // ended without such a verdict; the best parameters are still printed
  kExitUsage = 2,      // an error in the command line or the model
  kExitBadData = 3,    // an error in the data, out of memory, or an output that cannot be written
  kExitInterrupted = 130
};

// Is thrown for an error in the command line or the model.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Is thrown for an error in the input. The message contains `file:line:column` if there is one.
struct BadData : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Is thrown if an output could not be written. Its previous content is unchanged.
struct OutputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Is thrown after Ctrl-C while reading, when there is no best result to print yet.
struct Interrupted : std::runtime_error {
  Interrupted() : std::runtime_error("interrupted") {}
};

}  // namespace nlsq::cli
