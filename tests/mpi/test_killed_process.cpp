// Tests that a killed process ends the job soon, and that the fit goes on from its checkpoint to the same
// bits.
#include "mpi_program.hpp"

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <signal.h>

#include <chrono>
#include <cmath>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace program;

namespace {

using Clock = std::chrono::steady_clock;

// Returns the processes of nlsq-fit-mpi that read this file.
std::vector<pid_t> processes_of(const std::string& file) {
  std::vector<pid_t> found;
  std::FILE* const pipe = ::popen(("pgrep -f 'nlsq-fit-mpi " + file + "'").c_str(), "r");
  char line[64];
  while (std::fgets(line, sizeof line, pipe) != nullptr) {
    const auto pid = static_cast<pid_t>(std::atoi(line));
    std::ifstream command("/proc/" + std::to_string(pid) + "/comm");
    std::string name;
    if (command >> name; name == "nlsq-fit-mpi") found.push_back(pid);
  }
  ::pclose(pipe);
  return found;
}

// Returns how many moments are tried. NLSQ_TEST_KILLS sets another number.
int kills() {
  const char* const wish = std::getenv("NLSQ_TEST_KILLS");
  return wish != nullptr ? std::atoi(wish) : 6;
}

}  // namespace

TEST_CASE("a killed process ends the job within seconds; --resume finds the same bits") {
  const Scratch files;
  constexpr int kRows = 150'000;
  const std::string table = files.write("long.csv", "t,v,g\n" + decay_rows(0, kRows, kRows));
  // The rate moves far, and every iteration uses all rows.
  const std::string fit = table +
                          " --model 'a*exp(-b*x)+c+d*sin(e*x)' --p0 a=1,b=9,c=0,d=0.3,e=2.9 --precision f64 "
                          "--starts 12 --threads 1 --quiet --json ";
  REQUIRE(run(fit + files.path("one.json")).status <= 1);
  const std::string one = without_circumstances(files.read("one.json"));
  // Moments are fractions of the time that an undisturbed job takes on this machine.
  const auto start = Clock::now();
  REQUIRE(run_mpi(2, fit + files.path("whole.json") + " --checkpoint " + files.path("whole")).status <= 1);
  auto undisturbed = Clock::now() - start;
  std::mt19937 random(5);
  std::uniform_real_distribution<double> share(0.2, 0.9);
  int killed_at_work = 0;
  for (int k = 0; k < kills(); ++k) {
    const std::string result = fmt::format("r{}.json", k), checkpoint = files.path(fmt::format("c{}", k));
    const std::string job = fit + files.path(result) + " --checkpoint " + checkpoint + " --resume";
    Outcome ended;
    std::thread running([&] { ended = run_mpi(2, job); });
    std::this_thread::sleep_for(share(random) * undisturbed);
    const std::vector<pid_t> pids = processes_of(table);
    if (!pids.empty()) ::kill(pids[static_cast<std::size_t>(k) % pids.size()], SIGKILL);
    else undisturbed /= 2;  // other work has ended, and jobs are now faster
    const auto from = Clock::now();
    running.join();
    CHECK(Clock::now() - from < std::chrono::seconds(10));
    if (!pids.empty() && ended.status > 1) {
      ++killed_at_work;
      // The result appears in one step. A job killed after that leaves it complete; one killed before leaves
      // none.
      if (std::filesystem::exists(files.path(result))) {
        CHECK(without_circumstances(files.read(result)) == one);
        std::filesystem::remove(files.path(result));
      }
    }
    // This runs on another number of processes.
    const Outcome resumed = k % 2 == 0
                                ? run_mpi(3, job)
                                : run(fit + files.path(result) + " --checkpoint " + checkpoint + " --resume");
    CHECK(resumed.status <= 1);
    CHECK(without_circumstances(files.read(result)) == one);
  }
  CHECK(2 * killed_at_work >= kills());
}
