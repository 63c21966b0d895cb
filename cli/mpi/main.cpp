// This is the main function of nlsq-fit-mpi. It runs the command of nlsq-fit in several MPI processes, which
// divide the rows among them.
#include "processes/processes.hpp"
#include "run.hpp"

#include <nlsq/mpi.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace {

using nlsq::mpi::ProcessTeam;

class MpiProcesses final : public nlsq::cli::Processes {
 public:
  MpiProcesses() : team_(std::make_shared<ProcessTeam>(MPI_COMM_WORLD)) {}

  std::shared_ptr<nlsq::Team> team() override { return team_; }

  SharedColumns share(std::vector<nlsq::Column> mine, std::vector<std::shared_ptr<void>> memory) override {
    SharedColumns out;
    rows_.push_back(std::make_unique<nlsq::mpi::Rows>(MPI_COMM_WORLD, std::move(mine)));
    memory_.push_back(std::move(memory));
    for (int c = 0; c < rows_.back()->columns(); ++c) out.columns.emplace_back(*rows_.back(), c);
    out.team = rows_.back()->team();
    return out;
  }

  void hold_message(std::string_view line) noexcept override {
    try {
      messages_ += fmt::format("nlsq-fit-mpi: {}\n", line);
    } catch (...) {
      std::fputs("nlsq-fit-mpi: out of memory\n", stderr);
    }
  }

  // Ends the work of all processes. The first process writes the message and returns the exit status of the
  // first one that failed by itself. The others return 0, so that mpirun reports one failure.
  int end(int status) {
    team_->leave();
    const bool left_behind = team_->left_behind() || std::ranges::any_of(rows_, [](const auto& r) {
                               return r->team()->left_behind();
                             });
    rows_.clear();  // all have left, so none reads from another
    const char last = left_behind ? 'l' : '-';
    const std::vector<std::string> all = team_->gather(fmt::format("{}{:03}{}", last, status, messages_));
    const auto failed = std::ranges::find_if(
        all, [](const std::string& text) { return text.substr(0, 4) != "-000" && text[0] != 'l'; });
    const std::string& end = failed == all.end() ? all.front() : *failed;
    if (team_->rank() == 0) std::fputs(end.c_str() + 4, stderr);
    return team_->rank() == 0 ? std::stoi(end.substr(1, 3)) : 0;
  }

 private:
  std::shared_ptr<ProcessTeam> team_;
  // Other processes may read from here until all have ended.
  std::vector<std::unique_ptr<nlsq::mpi::Rows>> rows_;
  std::vector<std::vector<std::shared_ptr<void>>> memory_;
  std::string messages_;
};

}  // namespace

int main(int argc, char** argv) {
  int threads = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &threads);
  int status = 0;
  try {
    MpiProcesses processes;
    nlsq::cli::choose_processes(&processes);
    status = processes.end(nlsq::cli::run(argc, argv));
    nlsq::cli::choose_processes(nullptr);
  } catch (const std::exception& e) {
    fmt::print(stderr, "nlsq-fit-mpi: {}\n", e.what());
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Finalize();
  return status;
}
