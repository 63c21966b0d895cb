// Writes results of groups as bytes, for other processes and for journals, and reads them.
#pragma once

#include <nlsq/groups.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace nlsq::inline v0 {

// The number of the format. Format 1 stored groups in lanes differently, and format 2 had no warnings.
inline constexpr std::uint64_t kGroupFormat = 3;

std::string group_bytes(const GroupsResult& fits, std::span<const std::size_t> groups);
void take_group_bytes(std::string_view bytes, std::span<const std::size_t> groups, GroupsResult& fits);

}  // namespace nlsq::inline v0
