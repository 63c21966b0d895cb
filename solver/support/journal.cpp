// Implements Journal: a header, then records with a length and a checksum each.
#include <nlsq/journal.hpp>

#include "support/bytes.hpp"

#include <nlsq/version.hpp>
#include "kernels/kernel_table.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace nlsq::inline v0 {

namespace {

constexpr std::string_view kMagic = "nlsq journal 1\n";

std::uint64_t checksum(std::string_view bytes) {
  ByteHash hash;
  hash.add(bytes);
  return hash.value();
}

// Returns a record: a length, the bytes, and their checksum.
std::string framed(std::string_view bytes) {
  ByteWriter out;
  out.put_text(bytes);
  out.put(checksum(bytes));
  return std::move(out.text());
}

// Reads what framed() wrote. Returns nothing if it is cut short or damaged.
std::optional<std::string> unframed(ByteReader& in) {
  try {
    std::string bytes = in.get_text();
    if (in.get<std::uint64_t>() == checksum(bytes)) return bytes;
  } catch (const Error&) {
    // cut short
  }
  return std::nullopt;
}

// Shortens the file to `end` bytes and sets the position of the next write there. Returns false, and sets
// errno, if this fails.
bool cut(int descriptor, std::uint64_t end) {
  return ::ftruncate(descriptor, static_cast<off_t>(end)) == 0 &&
         ::lseek(descriptor, static_cast<off_t>(end), SEEK_SET) >= 0;
}

std::string read_all(int descriptor) {
  std::string text;
  char block[1 << 16];
  for (ssize_t n; (n = ::read(descriptor, block, sizeof block)) != 0;) {
    if (n > 0) text.append(block, static_cast<std::size_t>(n));
    else if (errno != EINTR) throw JournalError(std::strerror(errno));
  }
  return text;
}

// Returns the first line in which two descriptions of work differ: that of `before` and that of `now`.
std::pair<std::string_view, std::string_view> first_difference(std::string_view before,
                                                               std::string_view now) {
  while (!before.empty() || !now.empty()) {
    const std::string_view a = before.substr(0, before.find('\n')), b = now.substr(0, now.find('\n'));
    if (a != b) return {a, b};
    before.remove_prefix(std::min(before.size(), a.size() + 1));
    now.remove_prefix(std::min(now.size(), b.size() + 1));
  }
  return {};
}

}  // namespace

void Journal::fail(const std::string& what) const {
  throw JournalError(fmt::format("journal {}: {}", file_, what));
}

Journal::Journal(std::string file, std::string_view work, bool resume) : file_(std::move(file)) {
  if (file_.empty()) return;
  header_ = fmt::format("nlsq {}, {}\n{}", version(), kernels().name, work);
  descriptor_ = ::open(file_.c_str(), O_RDWR | O_CLOEXEC | O_CREAT, 0666);
  if (descriptor_ < 0) fail(std::strerror(errno));
  try {
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
      fail("another process writes it; wait for its end, or give another file");
    std::string text = read_all(descriptor_);
    if (!text.empty() && !text.starts_with(kMagic))
      fail("this is another kind of file, which would be lost; give a file that does not exist");
    if (resume && !text.empty()) read_records(text);
    else begin();
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

Journal::~Journal() {
  if (descriptor_ < 0) return;
  ::fdatasync(descriptor_);
  ::close(descriptor_);
}

void Journal::begin() {
  if (!cut(descriptor_, 0)) fail(std::strerror(errno));
  append(std::string(kMagic) + framed(header_));
}

void Journal::read_records(std::string_view text) {
  ByteReader in(text.substr(kMagic.size()));
  const std::size_t all = text.size() - kMagic.size();
  const std::optional<std::string> header = unframed(in);
  if (!header) return begin();  // the header was cut short, so there is no record
  if (*header != header_) {
    const auto [before, now] = first_difference(*header, header_);
    fail(fmt::format("it was written for '{}', and this is '{}'; give the same arguments, or begin anew",
                     before, now));
  }
  std::uint64_t end = kMagic.size() + (all - in.left());
  while (const std::optional<std::string> record = unframed(in)) {
    ByteReader fields(*record);
    const auto number = fields.get<std::uint64_t>();
    const auto request = fields.get<std::uint64_t>();
    if (number != records_.size()) break;
    records_.push_back({request, end, fields.get_text()});
    end = kMagic.size() + (all - in.left());
  }
  found_ = records_.size();
  if (!cut(descriptor_, end)) fail(std::strerror(errno));
}

std::optional<std::string> Journal::recall(std::size_t number, std::uint64_t request) {
  if (number >= records_.size()) return std::nullopt;
  Record& record = records_[number];
  if (record.request == request) {
    ++reused_;
    return std::move(record.bytes);
  }
  if (!cut(descriptor_, record.offset)) fail(std::strerror(errno));
  records_.resize(number);
  return std::nullopt;
}

void Journal::keep(std::size_t number, std::uint64_t request, std::string_view bytes) {
  if (file_.empty()) return;
  ByteWriter record;
  record.put(static_cast<std::uint64_t>(number));
  record.put(request);
  record.put_text(bytes);
  append(framed(record.text()));
}

// Writes all bytes. If the disk is full, the journal ends before this record, because the record is
// incomplete.
void Journal::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(descriptor_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(fmt::format("{}; make room, or give another file", std::strerror(errno)));
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

}  // namespace nlsq::inline v0
