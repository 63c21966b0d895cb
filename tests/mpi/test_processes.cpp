// Tests that nlsq-fit-mpi gives the results and messages of one process, for any number of processes.
#include "mpi_program.hpp"
#include "program_data.hpp"

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <string>

using namespace program;

namespace {

constexpr int kRows = 400'000;  // 8 MB
const std::string kHead = "t,v,g\n";

std::string whole_table(const Scratch& files) {
  return files.write("all.csv", kHead + decay_rows(0, kRows, kRows));
}

std::string fit_of(const Outcome& outcome) {
  REQUIRE(outcome.status == 0);
  return without_circumstances(outcome.out);
}

}  // namespace

TEST_CASE("any number of processes has the bits of one") {
  const Scratch files;
  const std::string table = whole_table(files);
  for (const std::string& fit :
       {std::string(" --model exp"),
        std::string(" --model exp --where 't > 0.5 && g != 2' --sigma 'sqrt(v)'"),
        std::string(" --model 'a*exp(-b*x)+c' --x 't/2' --range 0.1:2 --precision f64 --loss huber"),
        std::string(" --model exp --starts 3 --predict 0:5:4 --derive 'h=log(2)/b'")}) {
    CAPTURE(fit);
    const std::string one = fit_of(run(table + fit + " --quiet --json -"));
    for (const int processes : {1, 2, 3, 5}) {
      CAPTURE(processes);
      CHECK(fit_of(run_mpi(processes, table + fit + " --quiet --json -")) == one);
    }
  }
}

TEST_CASE("any division into files has the same bits, and rows are counted by file") {
  const Scratch files;
  const std::string table = whole_table(files);
  const std::string a = files.write("a.csv", kHead + decay_rows(0, 17, kRows)),
                    b = files.write("b.csv", kHead + decay_rows(17, 250'000, kRows)),
                    c = files.write("c.csv", "# a comment\n" + kHead + "\n" +
                                                 decay_rows(250'017, kRows - 250'017, kRows));
  const auto parameters = [](const std::string& text) {
    return nlohmann::json::parse(text)["parameters"].dump();
  };
  const std::string one = parameters(run(table + " --model exp --quiet --json -").out);
  for (const int processes : {2, 3}) {
    const Outcome several = run_mpi(processes, a + " " + b + " " + c + " --model exp --quiet --json -");
    CHECK(parameters(several.out) == one);
    const nlohmann::json listed = nlohmann::json::parse(several.out)["files"];
    CHECK(listed[0]["rows"] == 17);
    CHECK(listed[1]["rows"] == 250'000);
    CHECK(listed[2]["rows"] == kRows - 250'017);
    CHECK(listed[1]["checksum"] ==
          nlohmann::json::parse(run(b + " --model exp --quiet --json -").out)["files"][0]["checksum"]);
  }
  const Outcome report = run_mpi(2, a + " " + b + " " + c + " --model exp");
  CHECK(contains(report.out, fmt::format("{} rows", kRows)));
  CHECK(contains(report.out, "b.csv: 250000"));
}

TEST_CASE("quotes that go over lines, dates, compressed files and row numbers are read by every process") {
  const Scratch files;
  std::string quoted = "t,v,note\n";
  for (int i = 0; i < 200'000; ++i)
    quoted += fmt::format("{:.5f},{:.6f},\"a\nlong, note {}\"\n", i * 1e-5, 2 + 3e-5 * i, i);
  const std::string table = files.write("quoted.csv", quoted);
  const std::string fit = " --model linear --quiet --json -";
  CHECK(fit_of(run_mpi(3, table + fit)) == fit_of(run(table + fit)));
  const std::string all = whole_table(files);
  CHECK(fit_of(run_mpi(2, all + " --x '$0' --y v" + fit)) == fit_of(run(all + " --x '$0' --y v" + fit)));
  REQUIRE(std::system(("gzip -k " + all).c_str()) == 0);
  CHECK(fit_of(run_mpi(2, all + ".gz" + fit)) == fit_of(run(all + ".gz" + fit)));
}

TEST_CASE("groups and pixels are divided, with the bits of one process") {
  const Scratch files;
  const std::string table = files.write("groups.csv", table_of_groups(2'000));
  const std::string image = files.write("image.npy", image_of_decays(40, 50, 12));
  const std::string groups = table + " --group-by g --x x --y y --model exp --quiet --csv ";
  const std::string pixels = image + " --model exp --quiet --maps ";
  const std::string several = whole_table(files) + " --group-by g --model exp --quiet --csv -";
  REQUIRE(run(groups + files.path("one.csv")).status == 1);  // some groups cannot be fitted
  REQUIRE(run(pixels + files.path("one.npz")).status == 1);
  for (const int processes : {1, 2, 3, 5}) {
    CAPTURE(processes);
    CHECK(run_mpi(processes, groups + files.path("r.csv")).status == 1);
    CHECK((files.read("r.csv") == files.read("one.csv")));
    CHECK(run_mpi(processes, pixels + files.path("r.npz")).status == 1);
    CHECK((files.read("r.npz") == files.read("one.npz")));
  }
  CHECK(run_mpi(3, several).out == run(several).out);
}

TEST_CASE("fits of groups go on from a checkpoint with another number of processes") {
  const Scratch files;
  const std::string table = files.write("groups.csv", table_of_groups(2'000));
  for (const std::string& share : {std::string(), std::string(" --share a,b")}) {
    CAPTURE(share);
    const std::string fit = table + " --group-by g --x x --y y --model exp --quiet --csv " +
                            files.path("r.csv") + share,
                      checkpoint = files.path("c" + std::to_string(share.size())),
                      kept = fit + " --resume --checkpoint " + checkpoint;
    const int status = run(fit).status;
    REQUIRE(status <= 1);
    const std::string one = files.read("r.csv");
    REQUIRE(run_mpi(3, kept).status == status);
    CHECK((files.read("r.csv") == one));
    const auto size = std::filesystem::file_size(checkpoint);
    for (const int processes : {2, 1, 5}) {
      CAPTURE(processes);
      std::filesystem::resize_file(checkpoint, size / 2);
      std::filesystem::remove(files.path("r.csv"));
      CHECK(run_mpi(processes, kept).status == status);
      CHECK((files.read("r.csv") == one));
      CHECK(std::filesystem::file_size(checkpoint) == size);
    }
  }
}

TEST_CASE("work that is not divided is done once") {
  const Scratch files;
  const std::string table = whole_table(files);
  const std::string joint = table + " --group-by g --share b --model exp --quiet --csv -";
  CHECK(run_mpi(2, joint).out == run(joint).out);
  CHECK(run_mpi(2, "--describe exp").out == run("--describe exp").out);
  const std::string resampled = table + " --model exp --bootstrap 20 --quiet --json -";
  CHECK(fit_of(run_mpi(3, resampled)) == fit_of(run(resampled)));
}

TEST_CASE("errors are told once, with the words of one process") {
  const Scratch files;
  const std::string bad = files.write(
      "bad.csv", kHead + decay_rows(0, kRows - 1000, kRows) + "4.99,red,1\n" + decay_rows(0, 999, kRows));
  const std::string other = files.write("other.csv", "t,w,g\n" + decay_rows(0, 10, kRows));
  const std::string infinite = files.write("infinite.csv", kHead + decay_rows(0, kRows, kRows) + "6,inf,1\n");
  const std::string table = whole_table(files);
  for (const std::string& arguments :
       {bad + " --model exp", table + " " + other + " --model exp", files.path("none.csv") + " --model exp",
        infinite + " --model exp", table + " --model 'nosuch('", table + " --modle exp",
        table + " --model exp --y missing",
        table + " --model exp --quiet --json " + files.path("no/folder/f.json"),
        table + " --model exp --loss poisson --y 'v-1'", table + " --model exp --group-by missing",
        table + " --model exp --group-by g --p0 q=1", bad + " --model exp --group-by g",
        table + " --model exp --group-by g --resume --checkpoint " + table}) {
    CAPTURE(arguments);
    const Outcome alone = run(arguments);
    const Outcome several = run_mpi(3, arguments);
    REQUIRE(alone.status != 0);
    CHECK(several.status == alone.status);
    std::string words = alone.out;
    for (std::size_t at; (at = words.find("nlsq-fit:")) != std::string::npos;)
      words.replace(at, 9, "nlsq-fit-mpi:");
    const std::size_t first = several.out.find(words);
    CHECK(first != std::string::npos);
    CHECK(several.out.find(words, first + 1) == std::string::npos);
  }
  const Outcome pipe = run_mpi(2, "- --model exp < " + table);
  CHECK(pipe.status == 2);
  CHECK(contains(pipe.out, "several processes cannot share standard input"));
  const Outcome limit = run_mpi(2, table + " --model exp --time-limit 3");
  CHECK(limit.status == 2);
  CHECK(contains(limit.out, "the clocks of several processes differ"));
  const Outcome measured = run_mpi(2, table + " --model exp --optimize speed:2");
  CHECK(measured.status == 2);
  CHECK(contains(measured.out, "--optimize measures times"));
}
