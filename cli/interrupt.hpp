// Handles Ctrl-C (SIGINT), SIGTERM and SIGHUP alike. The first signal stops the fit at its next iteration. A
// second one, or one while outputs are written, removes unfinished files and ends the process at once.
#pragma once

#include <string>

namespace nlsq::cli {

void install_interrupt_handler();
bool interrupted() noexcept;

// A signal ends the process at once, with exit status 130, as long as an object of this class exists.
class EndsAtOnce {
 public:
  EndsAtOnce() noexcept;
  EndsAtOnce(const EndsAtOnce&) = delete;
  EndsAtOnce& operator=(const EndsAtOnce&) = delete;
  ~EndsAtOnce();
};

// As long as an object of this class exists, the signal handler removes the file `path` before it ends the
// process.
class UnfinishedFile {
 public:
  explicit UnfinishedFile(const std::string& path) noexcept;
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;
  ~UnfinishedFile();

 private:
  int slot_ = -1;
};

}  // namespace nlsq::cli
