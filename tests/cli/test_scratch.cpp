// Tests tables larger than --memory. Their columns lie in scratch files, and results must have the same bits.
#include "program.hpp"

#include "table/scratch/large_mappings.hpp"
#include "table/scratch/scratch_memory.hpp"
#include "table/source/mapped_file.hpp"

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

using namespace program;

namespace {

constexpr int kRows = 300'000;  // each column takes 2.4 MB

std::string table(const std::string& last = "") {
  std::string text = "g,x,y\n";
  for (int i = 0; i < kRows; ++i) {
    const double x = 4.0 * i / kRows, y = 2.5 * std::exp(-1.3 * x) + 0.5 + 0.05 * std::sin(77.7 * i);
    text += fmt::format("{},{:.6f},{:.6f}\n", i % 3, x, y);
  }
  return text + last;
}

// Returns how much of the mapping at `memory` the process holds, in kB (Linux).
long held(const void* memory) {
  std::ifstream maps("/proc/self/smaps");
  const std::string begin = fmt::format("{:x}-", reinterpret_cast<std::uintptr_t>(memory));
  bool here = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.starts_with(begin)) here = true;
    long size = 0;
    if (here && line.starts_with("Rss:") && std::istringstream(line.substr(4)) >> size) return size;
  }
  return -1;
}

std::string without_options(const Outcome& outcome) { return without_circumstances(outcome.out); }

}  // namespace

TEST_CASE("columns beyond --memory lie in scratch files: the report says so, and the bits are the same") {
  const Scratch files;
  const std::string file = files.write("table.csv", table());
  std::filesystem::create_directory(files.path("scratch"));
  const std::string small = " --memory 1M --scratch " + files.path("scratch");
  const Outcome report = run(file + " --x x --y y --model exp" + small);
  CHECK(report.status == 0);
  CHECK(contains(report.out, "MB of columns are in scratch files in " + files.path("scratch")));
  CHECK_FALSE(contains(run(file + " --x x --y y --model exp").out, "scratch"));
  for (const std::string& columns :
       {std::string("--x x --y y"), std::string("--x 'x+1' --y 'log(y)' --where 'y > 0.7'"),
        std::string("--x x --y y --range 1:3 --sigma 'sqrt(y)'")}) {
    CAPTURE(columns);
    const std::string fit = file + " " + columns + " --model exp --quiet --json -";
    CHECK(without_options(run(fit + small)) == without_options(run(fit)));
  }
  const std::string groups = file + " --x x --y y --group-by g --model exp --quiet --csv -";
  CHECK(run(groups + small).out == run(groups).out);
  CHECK(run("- --x x --y y --model exp --quiet --csv - --predict 0:4:5" + small, "cat " + file + " |").out ==
        run(file + " --x x --y y --model exp --quiet --csv - --predict 0:4:5").out);
  CHECK(std::filesystem::is_empty(files.path("scratch")));
}

TEST_CASE("a pass gives back the rows of a large file that it has read, and leaves other memory alone") {
  const Scratch files;
  std::vector<float> numbers(2'000'000), beside(numbers.size(), 7);
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  const std::string file =
      files.write("numbers", {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float)});
  nlsq::cli::choose_scratch(5'000'000, files.path(""));
  CHECK(nlsq::cli::beyond_memory(8'000'000));
  CHECK_FALSE(nlsq::cli::beyond_memory(4'000'000));
  const int descriptor = ::open(file.c_str(), O_RDONLY);
  const nlsq::cli::MappedFile mapped(descriptor, numbers.size() * sizeof(float));
  ::close(descriptor);
  REQUIRE(nlsq::cli::has_large_mappings());
  const auto* const first = reinterpret_cast<const float*>(mapped.data());
  std::shared_ptr<void> owner;
  const std::vector<nlsq::Column> columns = nlsq::cli::hinted_columns(
      {nlsq::Column(first, numbers.size()), nlsq::Column(beside.data(), beside.size())}, owner);
  std::vector<float> seen(numbers.size());
  for (int pass = 0; pass < 2; ++pass) {
    CAPTURE(pass);
    columns[0].read(0, seen.size(), seen.data());
    CHECK(seen == numbers);
    if (held(first) < 0) break;  // this is not Linux
    CHECK(held(first) > 7000);
    for (const nlsq::Column& column : columns) column.was_read(0, seen.size() / 2);
    CHECK(held(first) < 4500);
    for (const nlsq::Column& column : columns) column.was_read(seen.size() / 2, seen.size() / 2);
    CHECK(held(first) < 500);
    CHECK(beside == std::vector<float>(beside.size(), 7));
  }
}

TEST_CASE("a full disk, a missing folder and a bad cell late in the table end with a message") {
  const Scratch files;
  const std::string file = files.write("table.csv", table());
  const std::string fit = file + " --x x --y y --model exp --memory 1M --scratch ";
  const Outcome full = run(fit + files.path(""), "ulimit -f 1000;");  // a block is 512 bytes or 1 KiB
  CHECK(full.status == 3);
  CHECK(contains(full.out, "cannot reserve a scratch file in " + files.path("")));
  CHECK(contains(full.out, "are free there, and the limit of --memory (1 MB) is reached"));
  const Outcome missing = run(fit + files.path("nowhere"));
  CHECK(missing.status == 3);
  CHECK(contains(missing.out, files.path("nowhere") + ": No such file or directory"));
  const Outcome late = run(files.write("bad.csv", table("1,4.1,red\n")) +
                           " --x x --y y --model exp --memory 1M --scratch " + files.path(""));
  CHECK(late.status == 3);
  CHECK(contains(late.out, fmt::format("bad.csv:{}:", kRows + 2)));
  for (const char* size : {"0", "2X", "-1G", "many", "1K"}) {
    CAPTURE(size);
    const Outcome wrong = run(fit + files.path("") + " --memory " + size);
    CHECK(wrong.status == 2);
    CHECK(contains(wrong.out, "--memory"));
  }
  CHECK(files.files() == 2);
}

TEST_CASE("an interrupted command leaves no scratch file behind") {
  const Scratch files;
  const std::string file = files.write("table.csv", table());
  std::filesystem::create_directory(files.path("scratch"));
  const Outcome stopped =
      run(file + " --x x --y y --model exp --bootstrap 100000 --memory 1M --scratch " + files.path("scratch"),
          "timeout --signal=KILL 1");
  CHECK(stopped.status != 0);
  CHECK(std::filesystem::is_empty(files.path("scratch")));
}

TEST_CASE("the limit of memory is the smallest of the control groups and those that contain them") {
  const Scratch files;
  const auto set = [&](const std::string& path, const std::string& limit) {
    std::filesystem::create_directories(std::filesystem::path(files.path(path)).parent_path());
    files.write(path, limit + "\n");
  };
  set("root/user/job/step/memory.max", "max");
  set("root/user/job/memory.max", "4000000");
  set("root/user/memory.max", "9000000");
  set("root/memory/jobs/seven/memory.limit_in_bytes", "9223372036854771712");
  set("root/memory/jobs/memory.limit_in_bytes", "3000000");
  set("root/cpu/jobs/memory.limit_in_bytes", "1");
  const std::string root = files.path("root");
  const std::uint64_t none = ~std::uint64_t{0};
  CHECK(nlsq::cli::group_limit("0::/user/job/step\n", root) == 4'000'000);
  CHECK(nlsq::cli::group_limit("0::/user\n", root) == 9'000'000);
  CHECK(nlsq::cli::group_limit("0::/\n", root) == none);
  CHECK(nlsq::cli::group_limit("5:cpu:/jobs\n4:memory:/jobs/seven\n0::/user/job\n", root) == 3'000'000);
  CHECK(nlsq::cli::group_limit("", root) == none);
  set("root/memory.max", "2000000");  // this is for a container, whose path is that of the host
  CHECK(nlsq::cli::group_limit("0::/elsewhere/container\n", root) == 2'000'000);
}
