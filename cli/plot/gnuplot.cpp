// Implements the child process: script, picture and messages pass through files in memory, so that neither
// side ever waits for the other to read.
#include "plot/gnuplot.hpp"

#include "errors.hpp"
#include "table/numbers/number.hpp"
#include "table/source/utf8.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

extern char** environ;

namespace nlsq::cli {

namespace {

[[noreturn]] void fail(const std::string& what, int error) {
  throw OutputError(fmt::format("--plot: {}: {}", what, std::strerror(error)));
}

// This is a file in memory, without a name.
class MemoryFile {
 public:
  MemoryFile() : fd_(::memfd_create("nlsq-fit", MFD_CLOEXEC)) {
    if (fd_ < 0) fail("cannot make a temporary file", errno);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { ::close(fd_); }

  int fd() const { return fd_; }

  void write(const std::string& text) {
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t n = ::write(fd_, text.data() + done, text.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail("cannot hold the script", errno);
      done += static_cast<std::size_t>(n);
    }
    ::lseek(fd_, 0, SEEK_SET);
  }

  std::string read() const {
    struct stat info = {};
    if (::fstat(fd_, &info) != 0) fail("cannot read what gnuplot wrote", errno);
    std::string text(static_cast<std::size_t>(info.st_size), '\0');
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t n = ::pread(fd_, text.data() + done, text.size() - done, static_cast<off_t>(done));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) fail("cannot read what gnuplot wrote", errno);
      done += static_cast<std::size_t>(n);
    }
    return text;
  }

 private:
  int fd_;
};

// Sets which file descriptors the child has.
class FileActions {
 public:
  FileActions() { ::posix_spawn_file_actions_init(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }

  void connect(const MemoryFile& file, int as) {
    ::posix_spawn_file_actions_adddup2(&actions_, file.fd(), as);
  }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) fail("gnuplot was lost", errno);
  }
  return status;
}

// Returns gnuplot's message without the empty lines and the pointer to the position with which it begins.
std::string message_of(const std::string& errors) {
  std::string out;
  for (std::size_t at = 0; at < errors.size();) {
    const std::size_t end = std::min(errors.find('\n', at), errors.size());
    const std::string line(trim_blanks(errors.substr(at, end - at)));
    if (!line.empty() && line != "^") out += (out.empty() ? "" : " ") + line;
    at = end + 1;
  }
  return printable(out, 600);
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) return fmt::format("was ended by signal {}", WTERMSIG(status));
  return fmt::format("ended with status {}", WEXITSTATUS(status));
}

}  // namespace

std::string find_gnuplot() {
  const char* const path = std::getenv("PATH");
  const std::string folders = path == nullptr ? "/usr/bin:/bin" : path;
  for (std::size_t at = 0; at <= folders.size();) {
    const std::size_t end = std::min(folders.find(':', at), folders.size());
    const std::string file = (end == at ? "." : folders.substr(at, end - at)) + "/gnuplot";
    struct stat info = {};
    if (::stat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(file.c_str(), X_OK) == 0)
      return file;
    at = end + 1;
  }
  throw OutputError(
      "--plot: gnuplot is not installed; install the package gnuplot-nox (apt-get install gnuplot-nox), or "
      "write the script with --plot FILE.gp, or draw on the terminal with --plot -");
}

std::string run_gnuplot(const std::string& script, const std::string& file) {
  const std::string program = find_gnuplot();
  MemoryFile input, output, errors;
  input.write(script);
  FileActions actions;
  actions.connect(input, STDIN_FILENO);
  actions.connect(output, STDOUT_FILENO);
  actions.connect(errors, STDERR_FILENO);
  std::array<char*, 3> arguments = {const_cast<char*>("gnuplot"), const_cast<char*>("-d"), nullptr};
  pid_t child = 0;
  const int error = ::posix_spawn(&child, program.c_str(), actions.get(), nullptr, arguments.data(), environ);
  if (error != 0) fail("cannot run " + program, error);
  const int status = wait_for(child);
  const std::string picture = output.read();
  if (status == 0 && !picture.empty()) return picture;
  const std::string message = message_of(errors.read());
  throw OutputError(fmt::format("--plot {}: gnuplot {}{}{}", printable(file, 200),
                                status == 0 ? "wrote nothing" : how_it_ended(status),
                                message.empty() ? "" : ": ", message));
}

}  // namespace nlsq::cli
