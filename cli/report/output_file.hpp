// Writes a file completely or not at all: a temporary file beside the target, fsync, rename. If the disk is
// full, the old file remains.
#pragma once

#include "interrupt.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nlsq::cli {

// Collects text and writes it to the target on commit(). "-" and targets that are not regular files (a pipe,
// a device) are written directly. Throws OutputError. Without commit(), nothing changes.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  void write(std::string_view text);
  void commit();

 private:
  void open_temporary();
  void flush();
  [[noreturn]] void fail(const char* what);

  std::string path_, temporary_, pending_;
  std::optional<UnfinishedFile> unfinished_;  // names the temporary file to the signal handler
  int fd_ = -1;
};

// Writes to standard output and checks that all of it was written.
void write_stdout(std::string_view text);

// Returns the headers of the columns of the predictors. One that has the name of another column of the file,
// which are listed in `others`, is called x_NAME.
std::vector<std::string> headers_of(const std::vector<std::string>& predictors,
                                    const std::vector<std::string>& others);

}  // namespace nlsq::cli
