// Makes sure that a journal goes on with the data that it was written for.
#pragma once

#include "support/bytes.hpp"

#include <nlsq/column.hpp>
#include <nlsq/options.hpp>

#include <cstdint>

namespace nlsq::inline v0 {

// Hashes all numbers of the data and compares the hash with that in the options' journal, or keeps it there.
// The processes of a team hash their own rows. Throws JournalError in all of them if the data are others.
// Without a journal, does nothing.
void check_kept_data(const RowSource& data, const SolverOptions& options);

// The same for data that the caller has hashed, in every process alike.
void check_kept_hash(std::uint64_t hash, const SolverOptions& options);
// Adds all numbers of a column to a hash.
void add_numbers(const Column& column, ByteHash& hash);

}  // namespace nlsq::inline v0
