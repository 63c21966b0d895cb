// The processes that run one command together: nlsq-fit-mpi. All make the same calls and come to the same
// result; the first one writes it. nlsq-fit is a single process, and has none of this.
#pragma once

#include <nlsq/column.hpp>
#include <nlsq/team.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace nlsq::cli {

// How the processes exchange bytes and rows. cli/mpi/main.cpp implements it with MPI.
class Processes {
 public:
  virtual ~Processes() = default;
  // A team in which each process has an equal part of the rows.
  virtual std::shared_ptr<Team> team() = 0;
  struct SharedColumns {
    std::vector<Column> columns;
    std::shared_ptr<Team> team;  // in which each process has the rows that it gave
  };
  // Makes columns of the rows of all processes, in the order of their ranks. `mine` are those of this one,
  // and `memory` owns their memory. The columns last until the command ends.
  virtual SharedColumns share(std::vector<Column> mine, std::vector<std::shared_ptr<void>> memory) = 0;
  // Keeps a line for the end. Does not throw.
  virtual void hold_message(std::string_view line) noexcept = 0;
};

// Called once by a command of several processes, which outlive its run.
void choose_processes(Processes* processes);
// Null in a single process.
Processes* processes();
// Whether this is the first process, or the only one. The others write no results.
bool first_process();

// The team with which a fit divides its passes; null in a single process. Each exchange also tells the
// processes whether one was interrupted.
std::shared_ptr<Team> told_of_interrupts(std::shared_ptr<Team> team);
// Whether the work shall end: in a single process, whether it was interrupted; else what the last exchange
// told all of them, so that they end at the same iteration.
bool shall_stop();

// How a step of the work ended in a process.
enum class StepEnd : char { done, failed, interrupted };
// Tells the others how it ended here, and returns how it ended in each, by rank. In a single process that is
// only `mine`.
std::vector<StepEnd> ends_of_all(StepEnd mine);

}  // namespace nlsq::cli
