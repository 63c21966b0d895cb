// A Journal is a file that stores the results of a long fit, so that a later call can continue from there.
// Pass it as FitOptions::journal.
#pragma once

#include <nlsq/error.hpp>
#include <nlsq/export.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nlsq::inline v0 {

// Is thrown if a journal cannot be read or written, or belongs to other work or other data. The message names
// the file and describes the remedy.
class NLSQ_API JournalError : public Error {
 public:
  using Error::Error;
};

// The state of a fit follows from the sums of its passes over the rows, so the journal stores those sums, in
// order. A later call with the same data, model and options repeats the fit and takes the sums from the
// journal instead of from the rows. After the last of them it continues, and ends with the same bits. The
// first pass is computed again, and the data of curve_fit are hashed: if they have changed, the call throws
// JournalError.
//
// Records are appended with a length and a checksum. A record that was cut short, because the process was
// killed, ends the journal before it. One fit at a time may use a journal.
class NLSQ_API Journal {
 public:
  // Opens `file`. `work` describes what is computed, in words or checksums: model, options, data. With
  // `resume`, it reads the records of a file that was written for the same work, by this version, on this
  // instruction set; if there is no such file, it begins one. Without `resume` it begins a new file and
  // replaces an older journal of this name. Throws JournalError if the file is not a journal, was written for
  // other work, or cannot be written. With an empty `file` nothing is stored; this is for the processes of a
  // team other than the first.
  Journal(std::string file, std::string_view work, bool resume);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  std::size_t found() const { return found_; }    // records that the file had
  std::size_t reused() const { return reused_; }  // records that were taken from it

  // Returns the number of the next pass, from 0. This and the functions below are for the solver.
  std::size_t next() { return next_++; }
  // Returns true if a pass was computed again and compared with the stored one.
  bool compared() const { return compared_; }
  void note_compared() { compared_ = true; }
  // Returns the bytes stored under this number, if they were stored for this request. If they were stored for
  // another one, the work has taken another course since, and this and all later records are dropped.
  std::optional<std::string> recall(std::size_t number, std::uint64_t request);
  // Appends a record. Throws JournalError if the disk is full.
  void keep(std::size_t number, std::uint64_t request, std::string_view bytes);
  const std::string& file() const { return file_; }

 private:
  struct Record {
    std::uint64_t request = 0;
    std::uint64_t offset = 0;  // in the file
    std::string bytes;
  };
  void read_records(std::string_view text);
  void begin();
  void append(std::string_view bytes);
  [[noreturn]] void fail(const std::string& what) const;

  std::string file_, header_;
  int descriptor_ = -1;
  std::vector<Record> records_;
  std::size_t next_ = 0, found_ = 0, reused_ = 0;
  bool compared_ = false;
};

}  // namespace nlsq::inline v0
