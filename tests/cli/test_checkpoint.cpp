// Tests --checkpoint and --resume. A fit that ended early goes on, and must have the bits of one that did
// not.
#include "program.hpp"
#include "program_data.hpp"

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <random>
#include <string>

using namespace program;

namespace {

std::string facts(const Outcome& outcome) { return without_circumstances(outcome.out); }

// Changes a digit of groups.csv. The command, which has a checkpoint c, must then refuse to go on.
void check_changed_data(const Scratch& files, const std::string& command) {
  std::string changed = files.read("groups.csv");
  const std::size_t digit = changed.find_last_of("123456789");
  changed[digit] = changed[digit] == '9' ? '8' : static_cast<char>(changed[digit] + 1);
  files.write("groups.csv", changed);
  const Outcome refused = run(command + " --resume --checkpoint " + files.path("c"));
  CHECK(refused.status == 3);
  CHECK(contains(refused.out, "the data have changed since"));
}

}  // namespace

TEST_CASE("a fit that was stopped goes on to the same bits") {
  const Scratch files;
  const std::string table = long_table(files, 200'000);
  for (const std::string& more :
       {std::string(), std::string(" --starts 3"), std::string(" --loss huber --sigma 0.01"),
        std::string(" --compare exp,exp0,linear"), std::string(" --bootstrap 300")}) {
    CAPTURE(more);
    const std::string model = more.find("compare") == std::string::npos ? " --model exp" : "";
    const std::string start =
        model.empty() || more.find("bootstrap") != std::string::npos ? "" : " --p0 a=1,b=9,c=3";
    const std::string fit = table + model + start + more + " --quiet --json -";
    const std::string whole = facts(run(fit));
    const std::string checkpoint = " --checkpoint " + files.path("c");
    run(fit + checkpoint + " --max-iterations 2");
    const auto size = std::filesystem::file_size(files.path("c"));
    CHECK(facts(run(fit + checkpoint + " --resume --threads 1")) == whole);
    CHECK(std::filesystem::file_size(files.path("c")) > size);
    CHECK(facts(run(fit + checkpoint + " --resume")) == whole);  // it goes on from its end
    CHECK(facts(run(fit + checkpoint)) == whole);                // it begins anew
    std::filesystem::remove(files.path("c"));
    CHECK(facts(run(fit + checkpoint + " --resume")) == whole);  // there is no file to go on from
  }
}

TEST_CASE("a fit that was killed while it resampled takes the finished samples from the file") {
  const Scratch files;
  const std::string table = long_table(files, 3'000);
  const std::string fit =
      table + " --model exp --bootstrap 3000 --threads 1 --quiet --json - --checkpoint " + files.path("c");
  const std::string whole = facts(run(table + " --model exp --bootstrap 3000 --quiet --json -"));
  run(fit, "timeout -s KILL 0.4");
  CHECK(std::filesystem::file_size(files.path("c")) > 0);
  CHECK(facts(run(fit + " --resume")) == whole);
}

// Runs the command, cuts its checkpoint as a killed process would leave it, and goes on from there.
void check_going_on(const Scratch& files, const std::string& command, const std::string& result) {
  REQUIRE(run(command).status <= 1);
  const std::string whole = files.read(result), checkpoint = files.path("c");
  const std::string kept = command + " --checkpoint " + checkpoint;
  REQUIRE(run(kept).status <= 1);
  CHECK((files.read(result) == whole));
  const auto size = std::filesystem::file_size(checkpoint);
  for (const double share : {0.2, 0.5, 0.93, 1.0}) {
    CAPTURE(share);
    std::filesystem::resize_file(checkpoint, static_cast<std::uintmax_t>(share * static_cast<double>(size)));
    std::filesystem::remove(files.path(result));
    REQUIRE(run(kept + " --resume --threads 1").status <= 1);
    CHECK((files.read(result) == whole));
    CHECK(std::filesystem::file_size(checkpoint) == size);
  }
}

TEST_CASE("fits of groups go on from what was finished, and refuse other data") {
  const Scratch files;
  // Most groups have the same number of rows and are fitted in lanes; the others are fitted singly. Some
  // groups are only noise, and some have too few rows.
  const std::string table = files.write("groups.csv", table_of_groups(9'000));
  const std::string fit =
      table + " --group-by g --x x --y y --model exp --quiet --csv " + files.path("r.csv");
  check_going_on(files, fit, "r.csv");
  check_changed_data(files, fit);
}

TEST_CASE("joint fits of groups go on from what was finished, and refuse other data") {
  const Scratch files;
  const std::string table = files.write("groups.csv", table_of_groups(100));
  const std::string joint =
      table + " --group-by g --x x --y y --model 'a*exp(-b*x)+c' --share b,c --max-iterations 90 --quiet";
  check_going_on(files, joint + " --csv " + files.path("r.csv"), "r.csv");
  // From so far away the joint fit takes more iterations than are kept at once.
  const std::string far = joint + " --p0 b=1e-5,c=30 --csv " + files.path("r.csv");
  check_going_on(files, far, "r.csv");
  const Outcome other = run(joint + " --p0 b=2e-5,c=30 --resume --checkpoint " + files.path("c"));
  CHECK(other.status == 3);
  CHECK(contains(other.out, "it was written for"));
  check_changed_data(files, far);
}

TEST_CASE("a joint fit that is killed at any moment goes on to the same bits") {
  const Scratch files;
  const std::string table = files.write("groups.csv", table_of_groups(500));
  const std::string joint =
      table +
      " --group-by g --x x --y y --model 'a*exp(-b*x)+c' --share b,c --p0 b=1e-5,c=30 --max-iterations 130 "
      "--quiet --csv " +
      files.path("r.csv");
  const auto start = std::chrono::steady_clock::now();
  REQUIRE(run(joint).status <= 1);
  const std::chrono::duration<double> whole_time = std::chrono::steady_clock::now() - start;
  const std::string whole = files.read("r.csv"), kept = joint + " --resume --checkpoint " + files.path("c");
  std::filesystem::remove(files.path("r.csv"));
  std::mt19937 random(3);
  std::uniform_real_distribution<double> share(0.1, 0.9);
  for (int k = 0; k < 5; ++k)  // each job goes on from the place where the last one was killed
    run(kept, fmt::format("timeout -s KILL {:.3f}", share(random) * whole_time.count()));
  if (std::filesystem::exists(files.path("r.csv"))) CHECK((files.read("r.csv") == whole));
  REQUIRE(run(kept).status <= 1);
  CHECK((files.read("r.csv") == whole));
}

TEST_CASE("fits of pixels go on from what was finished") {
  const Scratch files;
  const std::string image = files.write("image.npy", image_of_decays(120, 150, 12));
  check_going_on(files, image + " --model exp --quiet --maps " + files.path("maps.npz"), "maps.npz");
}

TEST_CASE("other work, other data and other files are refused, and nothing is lost") {
  const Scratch files;
  const std::string table = long_table(files, 1'000);
  const std::string checkpoint = " --checkpoint " + files.path("c");
  REQUIRE(run(table + " --model exp --quiet" + checkpoint).status == 0);
  const std::string kept = files.read("c");
  const Outcome other_model = run(table + " --model exp0 --resume" + checkpoint);
  CHECK(other_model.status == 3);
  CHECK(contains(other_model.out, "it was written for 'exp', and this is 'exp0'"));
  files.write("long.csv", files.read("long.csv") + "10,0\n");
  const Outcome longer = run(table + " --model exp --resume" + checkpoint);
  CHECK(longer.status == 3);
  CHECK(contains(longer.out, "bytes', and this is '"));
  CHECK(files.read("c") == kept);
  std::string changed = files.read("long.csv");
  changed.resize(changed.size() - 5);
  changed[changed.size() - 2] = changed[changed.size() - 2] == '3' ? '4' : '3';
  files.write("long.csv", changed);
  const Outcome same_size = run(table + " --model exp --resume" + checkpoint);
  CHECK(same_size.status == 3);
  CHECK(contains(same_size.out, "the data have changed since"));
  const std::string foreign = files.write("notes.txt", "do not lose me\n");
  const Outcome refused = run(table + " --model exp --checkpoint " + foreign);
  CHECK(refused.status == 3);
  CHECK(contains(refused.out, "another kind of file"));
  CHECK(files.read("notes.txt") == "do not lose me\n");
  CHECK(run(table + " --model exp --checkpoint " + table).status == 2);
  CHECK(contains(run(table + " --model exp --checkpoint " + files.path("no/folder/c")).out,
                 "there is no folder"));
}

TEST_CASE("commands that have no checkpoint say so") {
  for (const auto& [arguments, words] : {std::pair{" --model exp --resume", "--resume needs --checkpoint"},
                                         {" --model exp --checkpoint c --optimize speed", "measure times"},
                                         {" --model exp --checkpoint c --profile", "measure times"}}) {
    const Outcome refused = run(kDecay + arguments);
    CHECK(refused.status == 2);
    CHECK(contains(refused.out, words));
  }
  CHECK(contains(run("- --model exp --checkpoint c", "cat " + kDecay + " |").out, "cannot be read again"));
}

TEST_CASE("a disk that fills up ends the fit with a message") {
  const Scratch files;
  const std::string table = long_table(files, 100'000);
  const Outcome full =
      run(table + " --model 'a*exp(-b*x)+c' --p0 a=1,b=9 --starts 40 --checkpoint " + files.path("c"),
          "ulimit -f 4;");
  CHECK(full.status == 3);
  CHECK(contains(full.out, "make room, or give another file"));
}
