// The results of a batch's fits as bytes, for the processes of a team and for a journal; and a batch whose
// fits they share and keep.
#pragma once

#include "batch/batch.hpp"
#include "support/shared_work.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace nlsq::inline v0 {

// A result of so many fits of a model with these parameters, all FAILED. Parameters and their errors are
// `value`.
BatchResult unfitted(std::size_t fits, const std::vector<std::string>& parameter_names, double value = 0);

// Writes the fits [first, last).
std::string to_bytes(const BatchResult& fits, std::size_t first, std::size_t last);
// Stores them from fit `first` on.
void take_bytes(std::string_view bytes, std::size_t first, BatchResult& fits);

// Fits [first, last) of the batch and returns how many of them in lanes.
using FitRange = std::function<std::size_t(std::size_t first, std::size_t last)>;

// Does all fits of a batch, whose results are in `out`, with the other processes and the journal. Throws
// JournalError if the journal is of other data. Sets out.in_lanes.
void share_fits(SharedWork& work, const Batch& batch, const SolverOptions& options, const FitRange& fit_range,
                BatchResult& out);

}  // namespace nlsq::inline v0
