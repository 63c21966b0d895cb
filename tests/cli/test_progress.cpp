// Tests --progress: what it prints on a terminal and in a pipe, and when it prints nothing.
#include "program.hpp"
#include "program_data.hpp"

#include <doctest/doctest.h>

#include <pty.h>

#include <string>

using namespace program;

namespace {

// Returns what the shell command writes to a terminal.
std::string on_terminal(const std::string& command) {
  int terminal = -1;
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child == 0) {
    ::execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  std::string out;
  std::array<char, 4096> buffer;
  for (ssize_t n; (n = ::read(terminal, buffer.data(), buffer.size())) > 0;)
    out.append(buffer.data(), static_cast<std::size_t>(n));
  ::close(terminal);
  ::waitpid(child, nullptr, 0);
  return out;
}

// Returns a command that gets the second half of a table late.
std::string fed_slowly(const std::string& last_line, const std::string& options) {
  return "(printf 'x,y\\n1,2.1\\n2,2.9\\n3,4.2\\n'; sleep 0.8; printf '" + last_line +
         "\\n') | " NLSQ_BIN_DIR "/nlsq-fit - --model linear " + options;
}

const std::string kClear = "\r\x1b[K";

}  // namespace

TEST_CASE("in a pipe nothing is told by default, and with --progress on every part has a line") {
  CHECK_FALSE(contains(run(kDecay + " --model exp").out, "reading:"));
  CHECK_FALSE(contains(run(kDecay + " --model exp --progress off").out, "reading:"));
  const Outcome on = run(kDecay + " --model exp --quiet --progress on --bootstrap 20");
  CHECK(on.status == 0);
  CHECK(contains(on.out, "nlsq-fit: reading: 52"));
  CHECK(contains(on.out, " rows, 510 bytes of 510 bytes\n"));
  CHECK(contains(on.out, "nlsq-fit: fitting: iteration "));
  CHECK(contains(on.out, "nlsq-fit: fitting samples: 20 of 20\n"));
  CHECK_FALSE(contains(on.out, kClear));
  const Outcome wrong = run(kDecay + " --model exp --progress yes");
  CHECK(wrong.status == 2);
  CHECK(contains(wrong.out, "--progress yes: must be one of auto, on, off"));
}

TEST_CASE("several starts are counted, and so are groups, also those that fail") {
  const Outcome starts = run(kDecay + " --model exp --quiet --progress on --starts 3 --seed 1");
  CHECK(contains(starts.out, "fitting: start 3, iteration "));
  const Scratch scratch;
  std::string table = "g,x,y\n";
  for (int g = 0; g < 40; ++g) {
    for (int i = 0; i < (g == 7 ? 1 : 5); ++i)
      table += std::to_string(g) + "," + std::to_string(i) + "," + std::to_string(g + 2 * i + i % 2) + "\n";
  }
  const std::string file = scratch.write("groups.csv", table);
  const Outcome groups = run(file + " --x x --y y --model linear --group-by g --quiet --progress on");
  CHECK(contains(groups.out, "nlsq-fit: fitting groups: 40 of 40\n"));
}

TEST_CASE("on a terminal a line appears after half a second and is cleared; --quiet and off have none") {
  const std::string shown = on_terminal(fed_slowly("4,4.8", ""));
  CHECK(contains(shown, kClear + "reading: "));
  const std::size_t last = shown.rfind(kClear);
  REQUIRE(last != std::string::npos);
  CHECK(shown.substr(last).find("reading") == std::string::npos);  // the line was cleared before the report
  CHECK(contains(shown.substr(last), "CONVERGED"));
  CHECK_FALSE(contains(on_terminal(fed_slowly("4,4.8", "--quiet")), "reading"));
  CHECK_FALSE(contains(on_terminal(fed_slowly("4,4.8", "--progress off")), "reading"));
  CHECK(contains(on_terminal(fed_slowly("4,4.8", "--quiet --progress on")), kClear + "reading: "));
}

TEST_CASE("an error comes after the line was cleared") {
  const std::string shown = on_terminal(fed_slowly("4,red", ""));
  CHECK(contains(shown, kClear + "reading: "));
  CHECK(contains(shown, kClear + "nlsq-fit: <stdin>"));
}

TEST_CASE("the result is the same with and without") {
  const Scratch scratch;
  const auto result = [&](const std::string& progress) {
    run(kDecay + " --model exp --quiet --threads 1 --progress " + progress + " --json " +
        scratch.path("fit.json"));
    nlohmann::json object = nlohmann::json::parse(scratch.read("fit.json"));
    object.erase("time");
    object.erase("options");
    return object;
  };
  CHECK(result("on") == result("off"));
}
