// Files written whole or not at all: a temporary beside the target, fsync, rename. A disk that fills up
// leaves the old file as it was.
#pragma once

#include <string>
#include <string_view>

namespace nlsq::cli {

// Collects text and puts it in place on commit(). "-" and things that are not regular files (a pipe, a
// device) are written directly. Throws OutputError. Without commit() nothing changes.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  void write(std::string_view text);
  void commit();

 private:
  void flush();
  [[noreturn]] void fail(const char* what);

  std::string path_, temporary_, pending_;
  int fd_ = -1;
};

// Writes to standard output and makes sure it arrived.
void write_stdout(std::string_view text);

}  // namespace nlsq::cli
