// Runs every command line that the documents show, and checks its output.
#include <doctest/doctest.h>

#include <set>
#include <sstream>

#include "cli/program.hpp"
#include "documents.hpp"

namespace fs = std::filesystem;

namespace {

// This is a directory that looks like a checkout to the commands shown. It has the data, the guides, and a
// `./dev` that builds nothing. `./dev fit` runs the program just built; of other commands it only checks that
// they exist.
class Checkout {
 public:
  Checkout() {
    for (const char* folder : {"data", "docs"})
      fs::create_directory_symlink(fs::path(NLSQ_SOURCE_DIR) / folder, scratch_.path(folder));
    scratch_.write("dev",
                   "#!/bin/sh\n"
                   "if [ \"$1\" = fit ]; then shift; exec nlsq-fit \"$@\"; fi\n"
                   "exec grep -q \"^  $1 \" \"" NLSQ_SOURCE_DIR "/dev\"\n");
    fs::permissions(scratch_.path("dev"), fs::perms::owner_all);
  }

  // Runs a shell script here. Returns its status and its output.
  program::Outcome run(const std::string& script) const {
    scratch_.write("script", "PATH='" NLSQ_BIN_DIR "':$PATH\nset -eu\n" + script);
    const std::string command = "cd '" + scratch_.path("") + "' && sh script 2>&1";
    program::Outcome outcome;
    std::FILE* const pipe = ::popen(command.c_str(), "r");
    for (int c; (c = std::fgetc(pipe)) != EOF;) outcome.out += static_cast<char>(c);
    const int status = ::pclose(pipe);
    outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    return outcome;
  }

 private:
  program::Scratch scratch_;
};

std::vector<std::string> split(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> result;
  for (std::string line; std::getline(stream, line);) result.push_back(line);
  return result;
}

// Times, the number of iterations and rounding depend on the machine. Only the first word of these lines is
// compared.
bool depends_on_machine(const std::string& line) {
  return line.starts_with("Precision ") || line.starts_with("Time ");
}

void check_output(const std::string& printed, const std::vector<std::string>& shown) {
  const std::vector<std::string> got = split(printed);
  REQUIRE(got.size() >= shown.size());
  for (std::size_t i = 0; i < shown.size(); ++i) {
    if (shown[i] == "...") return;  // the rest is not shown
    if (depends_on_machine(shown[i]))
      CHECK(got[i].substr(0, got[i].find(' ')) == shown[i].substr(0, shown[i].find(' ')));
    else CHECK(got[i] == shown[i]);
  }
  CHECK(got.size() == shown.size());
}

void check_console(const Checkout& checkout, const std::string& text) {
  std::string command;
  std::vector<std::string> shown;
  const auto check = [&] {
    if (command.empty()) return;
    CAPTURE(command);
    check_output(checkout.run(command).out, shown);
  };
  for (const std::string& line : split(text)) {
    if (line.starts_with("$ ")) {
      check();
      command = line.substr(2);
      shown.clear();
    } else {
      shown.push_back(line);
    }
  }
  REQUIRE(!command.empty());
  check();
}

}  // namespace

TEST_CASE("every command line of the documents runs, and prints what is shown") {
  int run = 0;
  for (const fs::path& file : documents::list()) {
    const std::string name = file.filename().string();
    const Checkout checkout;  // shared by all blocks of a document, which follow each other
    for (const documents::Block& block : documents::blocks(file)) {
      CAPTURE(name);
      CAPTURE(block.line);
      if (block.language == "sh") {
        const program::Outcome outcome = checkout.run(block.text);
        CAPTURE(outcome.out);
        CHECK(outcome.status == 0);
        ++run;
      } else if (block.language == "console") {
        check_console(checkout, block.text);
        ++run;
      }
    }
  }
  CHECK(run >= 5);
}

TEST_CASE("a block says what it is, so that none escapes the tests by having no name") {
  const std::set<std::string> known = {"sh", "console", "cpp", "cmake", "text"};
  for (const fs::path& file : documents::list()) {
    for (const documents::Block& block : documents::blocks(file)) {
      const std::string place = file.filename().string() + ":" + std::to_string(block.line);
      CAPTURE(place);
      const bool of_c = block.language == "c" && file.filename() == "c.md";  // programs of tests/c
      // python/tests/test_documents.py runs these.
      const bool of_python =
          block.language == "python" && (file.filename() == "python.md" || file.filename() == "README.md");
      CHECK((known.contains(block.language) || of_c || of_python));
    }
  }
}

TEST_CASE("the links of the documents within the repository exist") {
  for (const fs::path& file : documents::list()) {
    bool code = false;
    for (const std::string& line : documents::lines(file)) {
      if (line.starts_with("```")) code = !code;
      if (code) continue;
      for (std::size_t at = line.find("]("); at != std::string::npos; at = line.find("](", at + 1)) {
        const std::string target = line.substr(at + 2, line.find_first_of(")#", at + 2) - at - 2);
        if (target.empty() || target.find("://") != std::string::npos) continue;
        CAPTURE(file.filename().string());
        CAPTURE(target);
        CHECK(fs::exists(file.parent_path() / target));
      }
    }
  }
}
