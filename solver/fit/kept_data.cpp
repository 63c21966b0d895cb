// Implements the comparison of data with those of a journal.
#include "fit/kept_data.hpp"

#include "support/parallel.hpp"
#include "support/shared_work.hpp"

#include <nlsq/journal.hpp>
#include <nlsq/team.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kPiece = std::size_t{1} << 16;  // rows that are hashed at a time, by one thread

// Adds `count` numbers to a hash. read(done, some, out) writes `some` of them, from number `done` on.
template <class Read>
void add_blocks(std::size_t count, Read read, ByteHash& hash) {
  std::vector<double> block(std::min<std::size_t>(count, 1024));
  for (std::size_t done = 0; done < count; done += block.size()) {
    const std::size_t some = std::min(block.size(), count - done);
    read(done, some, block.data());
    hash.add({reinterpret_cast<const char*>(block.data()), some * sizeof(double)});
  }
}

std::uint64_t hash_of_rows(const RowSource& data, std::size_t first, std::size_t count) {
  ByteHash hash;
  for (int c = 0; c < data.columns(); ++c) {
    const auto read = [&](std::size_t done, std::size_t some, double* out) {
      data.read(first + done, some, c, out);
    };
    add_blocks(count, read, hash);
  }
  return hash.value();
}

// Hashes the rows in pieces, and then the hashes. In a team, each process has a part of the rows and hashes
// the pieces that begin there; the processes then exchange these hashes.
std::uint64_t hash_of(const RowSource& data, const SolverOptions& options) {
  const std::size_t rows = data.rows(), pieces = (rows + kPiece - 1) / kPiece;
  Team* const team = options.team.get();
  const auto first_piece = [&](int rank) {
    return rank == team->size() ? pieces : (team->first_row(rank, rows) + kPiece - 1) / kPiece;
  };
  const std::size_t begin = team != nullptr ? first_piece(team->rank()) : 0;
  const std::size_t end = team != nullptr ? first_piece(team->rank() + 1) : pieces;
  std::vector<std::uint64_t> hashes(end - begin);
  run_tasks(hashes.size(), options, [&](std::size_t k) {
    const std::size_t first = (begin + k) * kPiece;
    hashes[k] = hash_of_rows(data, first, std::min(kPiece, rows - first));
  });
  ByteWriter mine;
  for (const std::uint64_t hash : hashes) mine.put(hash);
  std::string all = std::move(mine.text());
  if (team != nullptr) {
    const std::vector<std::string> parts = team->gather(all);
    all.clear();
    for (const std::string& part : parts) all += part;
  }
  ByteHash hash;
  hash.add(all);
  hash.add_value(rows);
  return hash.value();
}

}  // namespace

void add_numbers(const Column& column, ByteHash& hash) {
  const auto read = [&](std::size_t done, std::size_t some, double* out) { column.read(done, some, out); };
  add_blocks(column.size(), read, hash);
}

void check_kept_data(const RowSource& data, const SolverOptions& options) {
  if (options.journal) check_kept_hash(hash_of(data, options), options);
}

void check_kept_hash(std::uint64_t hash, const SolverOptions& options) {
  constexpr std::uint64_t kRequest = 0x64617461;  // an identifier that no pass has
  Journal& journal = *options.journal;
  ByteWriter found;
  found.put(hash);
  const std::size_t number = journal.next();
  const std::optional<std::string> kept = recall_in_team(journal, options.team.get(), number, kRequest);
  if (!kept) journal.keep(number, kRequest, found.text());
  else if (*kept != found.text())
    throw JournalError(
        fmt::format("journal {}: the data have changed since it was written; begin anew", journal.file()));
}

}  // namespace nlsq::inline v0
