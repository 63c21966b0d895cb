// Implements child processes with posix_spawn and pipes.
#include "child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

extern char** environ;

namespace bench {

namespace {

[[noreturn]] void fail(std::string_view what, int error) {
  throw std::runtime_error(fmt::format("{}: {}", what, std::strerror(error)));
}

// Makes a pipe whose ends are closed on exec. Children get explicit copies of the ends that they need.
std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe", errno);
  return ends;
}

std::vector<std::string> with_environment(const Environment& added) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    bool replaced = false;
    for (const auto& [name, value] : added) {
      replaced = replaced || (text.starts_with(name) && text.substr(name.size()).starts_with('='));
    }
    if (!replaced) all.emplace_back(text);
  }
  for (const auto& [name, value] : added) all.push_back(name + "=" + value);
  return all;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

// Starts a process with these descriptors as standard input and output. Returns -1 if the program is not
// found.
pid_t spawn(const std::vector<std::string>& argv, const Environment& added, int input, int output) {
  const std::vector<std::string> environment = with_environment(added);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  pid_t process = -1;
  const int error = posix_spawnp(&process, argv[0].c_str(), &actions, nullptr, pointers(argv).data(),
                                 pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT || error == EACCES) return -1;
  if (error != 0) fail(argv[0], error);
  return process;
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

// Appends what can be read now. Returns false at the end.
bool read_some(int from, std::string& to) {
  char block[1 << 14];
  ssize_t count = 0;
  do count = ::read(from, block, sizeof block);
  while (count < 0 && errno == EINTR);
  if (count > 0) to.append(block, static_cast<std::size_t>(count));
  return count > 0;
}

}  // namespace

Finished run_program(const std::vector<std::string>& argv, const Environment& environment) {
  const auto begin = std::chrono::steady_clock::now();
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing < 0) fail("/dev/null", errno);
  const std::array<int, 2> output = make_pipe();
  Finished finished;
  const pid_t process = spawn(argv, environment, nothing, output[1]);
  ::close(nothing);
  ::close(output[1]);
  if (process < 0) {
    ::close(output[0]);
    finished.status = 127;
    return finished;
  }
  while (read_some(output[0], finished.text)) {
  }
  ::close(output[0]);
  int status = 0;
  rusage usage{};
  while (::wait4(process, &status, 0, &usage) < 0) {
    if (errno != EINTR) fail("wait4", errno);
  }
  finished.wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  finished.cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  finished.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return finished;
}

Worker::Worker(const std::vector<std::string>& argv, const Environment& environment) : name_(argv[0]) {
  std::signal(SIGPIPE, SIG_IGN);  // a dead worker is detected when its answer is read
  const std::array<int, 2> input = make_pipe(), output = make_pipe();
  process_ = spawn(argv, environment, input[0], output[1]);
  ::close(input[0]);
  ::close(output[1]);
  input_ = input[1];
  output_ = output[0];
}

Worker::~Worker() {
  ::close(input_);  // the worker exits at the end of its input
  ::close(output_);
  if (process_ > 0) ::waitpid(process_, nullptr, 0);
}

std::string Worker::read_line() {
  std::size_t end;
  while ((end = buffer_.find('\n')) == std::string::npos) {
    if (process_ < 0 || !read_some(output_, buffer_))
      throw std::runtime_error(name_ + " ended without an answer");
  }
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  return line;
}

std::string Worker::ask(std::string_view line) {
  const std::string text = std::string(line) + "\n";
  if (::write(input_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) fail(name_, errno);
  return read_line();
}

TemporaryDirectory::TemporaryDirectory() {
  std::string pattern = (std::filesystem::temp_directory_path() / "nlsq-bench-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) fail(pattern, errno);
  path_ = pattern;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::filesystem::path program_directory() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

}  // namespace bench
