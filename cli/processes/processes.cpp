// Implements the functions that processes share when they run one command together.
#include "processes/processes.hpp"

#include "interrupt.hpp"

#include <atomic>
#include <string_view>
#include <utility>

namespace nlsq::cli {

namespace {

Processes* running = nullptr;
std::atomic<bool> stop_agreed = false;

// Adds a byte to each exchange: whether this process was interrupted.
class TellingTeam final : public Team {
 public:
  explicit TellingTeam(std::shared_ptr<Team> team) : team_(std::move(team)) {}
  int size() const override { return team_->size(); }
  int rank() const override { return team_->rank(); }
  std::size_t first_row(int rank, std::size_t rows) const override { return team_->first_row(rank, rows); }
  std::vector<std::string> gather(std::string_view mine) override {
    std::string told(1, interrupted() ? 'i' : '-');
    told += mine;
    std::vector<std::string> all = team_->gather(told);
    for (std::string& text : all) {
      if (text.front() == 'i') stop_agreed = true;
      text.erase(0, 1);
    }
    return all;
  }

 private:
  std::shared_ptr<Team> team_;
};

}  // namespace

void choose_processes(Processes* processes) { running = processes; }

Processes* processes() { return running; }

bool first_process() { return running == nullptr || running->team()->rank() == 0; }

std::shared_ptr<Team> told_of_interrupts(std::shared_ptr<Team> team) {
  return std::make_shared<TellingTeam>(std::move(team));
}

bool shall_stop() { return running == nullptr ? interrupted() : stop_agreed.load(); }

std::vector<StepEnd> ends_of_all(StepEnd mine) {
  if (running == nullptr) return {mine};
  const auto byte = static_cast<char>(mine);
  std::vector<StepEnd> ends;
  for (const std::string& text : running->team()->gather({&byte, 1}))
    ends.push_back(static_cast<StepEnd>(text.front()));
  return ends;
}

}  // namespace nlsq::cli
