// Declares the processes that run one command together: nlsq-fit-mpi. All make the same calls and get the
// same result. The first one writes it. nlsq-fit is a single process, in which processes() is null.
#pragma once

#include <nlsq/column.hpp>
#include <nlsq/team.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace nlsq::cli {

// Exchanges bytes and rows between the processes. cli/mpi/main.cpp implements it with MPI.
class Processes {
 public:
  virtual ~Processes() = default;
  // Returns a team in which each process has an equal part of the rows.
  virtual std::shared_ptr<Team> team() = 0;
  struct SharedColumns {
    std::vector<Column> columns;
    std::shared_ptr<Team> team;  // in which each process has the rows that it gave
  };
  // Makes columns of the rows of all processes, in the order of their ranks. `mine` are those of this one,
  // and `memory` owns their memory. The columns last until the command ends.
  virtual SharedColumns share(std::vector<Column> mine, std::vector<std::shared_ptr<void>> memory) = 0;
  // Keeps a line until the end of the command. Does not throw.
  virtual void hold_message(std::string_view line) noexcept = 0;
};

// A command of several processes calls this once. `processes` must outlive its run.
void choose_processes(Processes* processes);
// Returns null in a single process.
Processes* processes();
// Returns true in the first process, or the only one. The others write no results.
bool first_process();

// Returns the team with which a fit divides its passes, or null in a single process. Each exchange also tells
// the processes whether one was interrupted.
std::shared_ptr<Team> told_of_interrupts(std::shared_ptr<Team> team);
// Returns true if the work shall end. A single process ends if it was interrupted. Several processes end by
// the result of the last exchange, so that all end at the same iteration.
bool shall_stop();

// Lists the ways in which a step of the work can end in a process.
enum class StepEnd : char { done, failed, interrupted };
// Sends the other processes how the step ended here, and returns how it ended in each, by rank. In a single
// process that is only `mine`.
std::vector<StepEnd> ends_of_all(StepEnd mine);

}  // namespace nlsq::cli
