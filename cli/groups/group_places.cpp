// Implements name_places() and with_places_of_first().
#include "groups/group_places.hpp"

#include "report/row_places.hpp"

#include <cstddef>
#include <unordered_map>
#include <vector>

namespace nlsq::cli {

namespace {

std::string replaced(const std::string& message, const FitData& data, const std::vector<std::size_t>& rows) {
  return with_places(message, rows.size(), [&](std::size_t row) { return data.place(rows[row]); });
}

using RowsOfGroups = std::unordered_map<double, std::vector<std::size_t>>;

// Adds to each group in `groups` its rows, in the order of the table.
void find_rows(const Column& group, RowsOfGroups& groups) {
  for (std::size_t i = 0; i < group.size(); ++i) {
    const auto known = groups.find(group[i]);
    if (known != groups.end()) known->second.push_back(i);
  }
}

// Returns true if the message of group k names a row. The message of a joint fit is not about a single group.
bool names_row(const GroupsResult& fits, std::size_t k) {
  if (fits.joint && fits.message[k] == fits.joint->summary.message) return false;
  return fits.message[k].find("row ") != std::string::npos;
}

}  // namespace

void name_places(const FitData& data, const Column& group, GroupsResult& fits) {
  RowsOfGroups groups;
  for (std::size_t k = 0; k < fits.size(); ++k) {
    if (names_row(fits, k)) groups[group[fits.first_row[k]]];
  }
  if (groups.empty()) return;
  find_rows(group, groups);
  for (std::size_t k = 0; k < fits.size(); ++k) {
    if (names_row(fits, k))
      fits.message[k] = replaced(fits.message[k], data, groups[group[fits.first_row[k]]]);
  }
}

std::string with_places_of_first(const std::string& message, const FitData& data, const Column& group) {
  RowsOfGroups groups;
  groups[group[0]];
  find_rows(group, groups);
  return replaced(message, data, groups.begin()->second);
}

}  // namespace nlsq::cli
