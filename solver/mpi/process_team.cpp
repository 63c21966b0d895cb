// Implements ProcessTeam: exchanges of bytes between the processes of a communicator.
#include <nlsq/mpi.hpp>

#include <nlsq/error.hpp>
#include <nlsq/version.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cstdint>

namespace nlsq::inline v0::mpi {

namespace {

// A process sends this message before its bytes.
enum class Says : std::uint64_t { bytes, has_left };
struct Head {
  Says says = Says::bytes;
  std::uint64_t size = 0;
};

std::vector<Head> exchange_heads(MPI_Comm communicator, int size, Head mine) {
  std::vector<Head> heads(static_cast<std::size_t>(size));
  MPI_Allgather(&mine, sizeof(Head), MPI_BYTE, heads.data(), sizeof(Head), MPI_BYTE, communicator);
  return heads;
}

}  // namespace

ProcessTeam::ProcessTeam(MPI_Comm communicator, std::vector<std::size_t> ends)
    : communicator_(communicator), ends_(std::move(ends)) {
  MPI_Comm_size(communicator, &size_);
  MPI_Comm_rank(communicator, &rank_);
  const std::vector<std::string> builds = gather(build_information());
  for (std::size_t k = 1; k < builds.size(); ++k) {
    if (builds[k] == builds[0]) continue;
    throw Error(
        fmt::format("process {} runs other kernels or another version of nlsq than the first one; set "
                    "NLSQ_ISA to an instruction set that all machines have. It has\n{}the first has\n{}",
                    k, builds[k], builds[0]));
  }
}

std::vector<std::string> ProcessTeam::gather(std::string_view mine) {
  const std::vector<Head> heads = exchange_heads(communicator_, size_, {Says::bytes, mine.size()});
  std::uint64_t all = 0;
  for (std::size_t k = 0; k < heads.size(); ++k) {
    left_behind_ = heads[k].says == Says::has_left;
    if (left_behind_) throw Error(fmt::format("process {} of {} has ended before the others", k, size_));
    all += heads[k].size;
  }
  if (all > INT_MAX) throw Error(fmt::format("{} bytes at once are too many for an exchange by MPI", all));
  std::vector<int> sizes, offsets;
  int offset = 0;
  for (const Head& head : heads) {
    sizes.push_back(static_cast<int>(head.size));
    offsets.push_back(offset);
    offset += sizes.back();
  }
  std::string bytes(static_cast<std::size_t>(all), '\0');
  MPI_Allgatherv(mine.data(), static_cast<int>(mine.size()), MPI_BYTE, bytes.data(), sizes.data(),
                 offsets.data(), MPI_BYTE, communicator_);
  std::vector<std::string> out;
  for (std::size_t k = 0; k < heads.size(); ++k)
    out.push_back(bytes.substr(static_cast<std::size_t>(offsets[k]), static_cast<std::size_t>(sizes[k])));
  return out;
}

std::size_t ProcessTeam::first_row(int rank, std::size_t rows) const {
  if (ends_.empty() || ends_.back() != rows) return Team::first_row(rank, rows);
  return ends_[static_cast<std::size_t>(rank)];
}

void ProcessTeam::leave() {
  const auto all_left = [](const std::vector<Head>& heads) {
    return std::ranges::all_of(heads, [](const Head& head) { return head.says == Says::has_left; });
  };
  while (!all_left(exchange_heads(communicator_, size_, {Says::has_left, 0}))) {
    // Processes that still work throw now, and call leave(), too.
  }
}

}  // namespace nlsq::inline v0::mpi
