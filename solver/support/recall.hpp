// Takes a record from a journal in all processes of a team: the first one has the file.
#pragma once

#include <nlsq/journal.hpp>
#include <nlsq/team.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace nlsq::inline v0 {

// `team`: null for a single process.
inline std::optional<std::string> recall_in_team(Journal& journal, Team* team, std::size_t number,
                                                 std::uint64_t request) {
  std::optional<std::string> kept = journal.recall(number, request);
  if (team == nullptr || team->size() < 2) return kept;
  const std::string of_first = team->gather(kept ? "1" + *kept : "0").front();
  if (!of_first.starts_with('1')) return std::nullopt;
  return of_first.substr(1);
}

}  // namespace nlsq::inline v0
