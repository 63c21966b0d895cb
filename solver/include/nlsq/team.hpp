// A Team consists of several processes that make one curve fit together. Each process passes its team as
// FitOptions::team. The component nlsq::mpi makes teams of MPI processes; a class of your own can use any
// other transport.
#pragma once

#include <nlsq/export.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace nlsq::inline v0 {

// All processes of a team make the same calls with the same arguments, and each gets the same result. Only
// the long passes over the rows are divided: every process sums the rows of its own part, and they exchange
// the sums, some n² numbers. The parts are whole branches of the tree that a single process adds up, so the
// result has the same bits for any number of processes on one instruction set.
class NLSQ_API Team {
 public:
  virtual ~Team() = default;
  virtual int size() const = 0;  // number of processes
  virtual int rank() const = 0;  // number of this process, from 0
  // Sends `mine` to all processes and returns what each of them sent, by rank. All of them must call it, at
  // the same point of their work. If one has failed, it throws in all others.
  virtual std::vector<std::string> gather(std::string_view mine) = 0;
  // Returns the first of `rows` rows in the part of process `rank`, 0 <= rank <= size(). It must not decrease
  // with the rank. If the processes hold different rows, an override must describe which; here the parts are
  // equal.
  virtual std::size_t first_row(int rank, std::size_t rows) const {
    const auto k = static_cast<std::size_t>(rank), parts = static_cast<std::size_t>(size());
    return rows / parts * k + rows % parts * k / parts;
  }
};

}  // namespace nlsq::inline v0
