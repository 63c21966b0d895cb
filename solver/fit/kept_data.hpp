// Checks that a journal is continued with the data for which it was written.
#pragma once

#include "support/bytes.hpp"

#include <nlsq/column.hpp>
#include <nlsq/options.hpp>

#include <cstdint>

namespace nlsq::inline v0 {

// Hashes all numbers of the data and compares the hash with that in the options' journal, or stores it there.
// The processes of a team hash their own rows. Throws JournalError in all of them if the data have changed.
// Without a journal, does nothing.
void check_kept_data(const RowSource& data, const SolverOptions& options);

// Does the same for data that the caller has hashed. All processes of a team must pass the same hash.
void check_kept_hash(std::uint64_t hash, const SolverOptions& options);
// Adds all numbers of a column to a hash.
void add_numbers(const Column& column, ByteHash& hash);

}  // namespace nlsq::inline v0
