// Other programs beside this one: run once and awaited, or kept and asked again and again.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bench {

using Environment = std::vector<std::pair<std::string, std::string>>;  // added to this process's own

struct Finished {
  int status = -1;   // exit status; 128 + signal where one ended it
  std::string text;  // what it wrote to standard output
  double wall = 0;   // seconds, from before its start until it has ended
  double cpu = 0;    // processor time of it and what it awaited
};

// argv[0] is looked up in PATH; standard input is empty, standard error this process's. Throws
// std::runtime_error where no process can be made; a program not found ends with status 127.
Finished run_program(const std::vector<std::string>& argv, const Environment& environment = {});

// A program that answers each line with a line.
class Worker {
 public:
  explicit Worker(const std::vector<std::string>& argv, const Environment& environment = {});
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // The next line it writes, without its end. Throws std::runtime_error where it ended instead.
  std::string read_line();
  std::string ask(std::string_view line);

 private:
  pid_t process_ = -1;
  int input_ = -1, output_ = -1;  // its standard input and output
  std::string name_, buffer_;
};

// An empty directory of its own, gone with the object and all that is in it.
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

// The directory this program lies in: nlsq-fit lies beside it.
std::filesystem::path program_directory();

}  // namespace bench
