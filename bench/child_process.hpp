// Runs other programs, for peers that are programs: once to the end, or as a worker that answers repeated
// requests.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bench {

// Variables that are added to this process's environment.
using Environment = std::vector<std::pair<std::string, std::string>>;

struct Finished {
  int status = -1;   // exit status; 128 + signal if a signal ended it
  std::string text;  // its standard output
  double wall = 0;   // seconds, from before its start to its end
  double cpu = 0;    // processor time of it and of its awaited children
};

// Finds argv[0] in PATH. Standard input is empty, and standard error is this process's. Throws
// std::runtime_error if no process can be created. A program that is not found gives status 127.
Finished run_program(const std::vector<std::string>& argv, const Environment& environment = {});

// This is a program that answers each line with a line.
class Worker {
 public:
  explicit Worker(const std::vector<std::string>& argv, const Environment& environment = {});
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Returns the next line of its output without the line ending. Throws std::runtime_error if the program
  // ended instead.
  std::string read_line();
  std::string ask(std::string_view line);

 private:
  pid_t process_ = -1;
  int input_ = -1, output_ = -1;  // its standard input and output
  std::string name_, buffer_;
};

// Makes a new empty directory. The destructor removes it with all its contents.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  std::string file(std::string_view name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// Returns the directory of this program, which also contains nlsq-fit.
std::filesystem::path program_directory();

}  // namespace bench
