// Tests signals while the program reads, fits and writes.
#include "program.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <signal.h>

#include <chrono>
#include <cmath>
#include <thread>
#include <vector>

#include "program_data.hpp"

using namespace program;

namespace {

// Runs the program with its standard input open, and its output in a file.
class Running {
 public:
  Running(const std::vector<std::string>& arguments, const std::string& output) {
    int input[2];
    REQUIRE(::pipe(input) == 0);
    writer_ = input[1];
    pid_ = ::fork();
    if (pid_ == 0) {
      const int out = ::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      ::dup2(input[0], STDIN_FILENO);
      ::dup2(out, STDOUT_FILENO);
      ::dup2(out, STDERR_FILENO);
      ::close(input[1]);
      std::vector<char*> argv;
      for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
      argv.push_back(nullptr);
      ::execv(NLSQ_BIN_DIR "/nlsq-fit", argv.data());
      ::_exit(127);
    }
    ::close(input[0]);
  }
  int interrupt_after(std::chrono::milliseconds delay, int signal = SIGINT) {
    std::this_thread::sleep_for(delay);
    return send(signal);
  }
  // Sends the signal and returns the exit status, or minus the signal that ended the program.
  int send(int signal) {
    ::kill(pid_, signal);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    ::close(writer_);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t pid_ = -1;
  int writer_ = -1;
};

}  // namespace

TEST_CASE("Ctrl-C while waiting for data ends with status 130") {
  Scratch scratch;
  // Before the handler is installed, the signal kills the program. So this waits longer and longer.
  for (int delay = 100; delay < 10000; delay *= 2) {
    Running running({"nlsq-fit", "-", "--model", "exp"}, scratch.path("out"));
    const int status = running.interrupt_after(std::chrono::milliseconds(delay));
    if (status == -SIGINT) continue;
    CHECK(status == 130);
    CHECK(contains(scratch.read("out"), "interrupted"));
    return;
  }
  FAIL("the program never handled the signal");
}

TEST_CASE("SIGTERM and SIGHUP while waiting for data end with status 130, too") {
  for (const int signal : {SIGTERM, SIGHUP}) {
    CAPTURE(signal);
    Scratch scratch;
    int status = -signal;
    for (int delay = 100; delay < 10000 && status == -signal; delay *= 2) {
      Running running({"nlsq-fit", "-", "--model", "exp"}, scratch.path("out"));
      status = running.interrupt_after(std::chrono::milliseconds(delay), signal);
    }
    CHECK(status == 130);
    CHECK(contains(scratch.read("out"), "interrupted"));
  }
}

TEST_CASE("a signal while a file is written ends the program at once, and leaves the old file alone") {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    CAPTURE(signal);
    Scratch scratch;
    const std::string table = long_table(scratch, 1000000);
    int status = 0;
    for (int attempt = 0; attempt < 5 && status == 0;
         ++attempt) {  // 0: it was written before the signal came
      scratch.write("r.csv", "old");
      Running running(
          {"nlsq-fit", table, "--model", "linear", "--threads", "1", "--residuals", scratch.path("r.csv")},
          scratch.path("out"));
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
      while (scratch.files() < 4 &&
             std::chrono::steady_clock::now() < end)  // table, out, r.csv and the new file
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      const auto sent = std::chrono::steady_clock::now();
      status = running.send(signal);
      CHECK(std::chrono::steady_clock::now() - sent < std::chrono::seconds(1));
    }
    CHECK(status == 130);
    CHECK(scratch.read("r.csv") == "old");
    CHECK(scratch.files() == 3);
    CHECK(contains(scratch.read("out"), "unfinished outputs were removed"));
  }
}

TEST_CASE("Ctrl-C during a fit prints the best parameters so far, and ends with status 130") {
  Scratch scratch;
  std::string text = "x,y\n";
  char line[80];
  for (int i = 0; i < 100000; ++i) {
    const double x = i * 1e-4;
    const double y = std::exp(-(x - 4) * (x - 4)) + 0.5 / (1 + (x - 7) * (x - 7)) + 0.01 * std::sin(1e4 * x);
    std::snprintf(line, sizeof line, "%.4f,%.6f\n", x, y);
    text += line;
  }
  const std::string file = scratch.write("peaks.csv", text);
  std::string formula = "c", p0 = "c=0";
  for (int k = 0; k < 8; ++k) {
    const std::string n = std::to_string(k);
    formula += "+a" + n + "*voigt(x-m" + n + ",s" + n + ",g" + n + ")";
    p0 += ",a" + n + "=1,m" + n + "=" + std::to_string(k + 1) + ".3,s" + n + "=0.5,g" + n + "=0.5";
  }
  const std::vector<std::string> arguments = {"nlsq-fit", file, "--model", formula,
                                              "--p0",     p0,   "--json",  scratch.path("fit.json")};
  for (int delay = 200; delay < 10000; delay *= 2) {
    Running running(arguments, scratch.path("out"));
    const int status = running.interrupt_after(std::chrono::milliseconds(delay));
    const std::string out = scratch.read("out");
    if (!contains(out, "best parameters so far")) continue;  // it is still reading, or has no handler yet
    CHECK(status == 130);
    CHECK(contains(out, "std. error"));
    const nlohmann::json fit = nlohmann::json::parse(scratch.read("fit.json"));
    CHECK(fit["status"] == "user_stop");
    CHECK(fit["interrupted"] == true);
    CHECK(fit["parameters"].size() == 33);
    return;
  }
  FAIL("the fit was never interrupted");
}

TEST_CASE("Ctrl-C during a fit that cannot be certified ends with status 130, too") {
  Scratch scratch;
  std::string text = "x,y\n";
  char line[80];
  for (int i = 0; i < 600000; ++i) {
    std::snprintf(line, sizeof line, "%.6f,%.6f\n", i * 5e-6, 0.3 + 0.5 * std::sin(0.7 * i + 3e-6 * i * i));
    text += line;
  }
  const std::string file = scratch.write("noise.csv", text);
  const std::vector<std::string> arguments = {
      "nlsq-fit", file, "--model", "a*exp(-b*x)+c*exp(-d*x)", "--p0", "a=1,b=1,c=1,d=1", "--threads", "1"};
  for (int delay = 300; delay < 2000; delay *= 2) {
    Running running(arguments, scratch.path("out"));
    const int status = running.interrupt_after(std::chrono::milliseconds(delay));
    if (status < 0) continue;  // it has no handler yet
    CAPTURE(scratch.read("out"));
    CHECK(status == 130);
    return;
  }
  FAIL("the fit was never interrupted");
}

TEST_CASE("Ctrl-C during a bootstrap reports the samples drawn so far, and ends with status 130") {
  Scratch scratch;
  const std::vector<std::string> arguments = {
      "nlsq-fit", NLSQ_SOURCE_DIR "/data/decay.csv", "--model", "exp", "--bootstrap", "3000000",
      "--json",   scratch.path("fit.json")};
  for (int delay = 200; delay < 10000; delay *= 2) {
    Running running(arguments, scratch.path("out"));
    const int status = running.interrupt_after(std::chrono::milliseconds(delay));
    const std::string out = scratch.read("out");
    if (!contains(out, "bootstrap: stopped after")) continue;  // it has no handler yet
    CHECK(status == 130);
    CHECK(contains(out, "of 3000000 samples"));
    const nlohmann::json fit = nlohmann::json::parse(scratch.read("fit.json"));
    CHECK(fit["interrupted"] == true);
    CHECK(fit["status"] == "converged");
    CHECK(fit["bootstrap"]["samples"].get<int>() < 3000000);
    return;
  }
  FAIL("the bootstrap was never interrupted");
}

TEST_CASE(
    "SIGTERM during the prediction of many points ends soon with status 130, and writes no predictions") {
  // The fit takes milliseconds and the predictions seconds.
  for (int delay = 400; delay < 10000; delay *= 2) {
    Scratch scratch;
    Running running({"nlsq-fit", kDecay, "--model", "exp", "--predict", "0:400:20000000", "--csv",
                     scratch.path("out.csv")},
                    scratch.path("out"));
    std::this_thread::sleep_for(std::chrono::milliseconds(delay));
    const auto sent = std::chrono::steady_clock::now();
    const int status = running.send(SIGTERM);
    if (status == -SIGTERM) continue;  // it has no handler yet
    CHECK(status == 130);
    CHECK(std::chrono::steady_clock::now() - sent < std::chrono::seconds(10));
    CHECK(!std::filesystem::exists(scratch.path("out.csv")));
    return;
  }
  FAIL("the program never handled the signal");
}
