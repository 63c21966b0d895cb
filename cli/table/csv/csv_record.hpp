// Parses one record of a table: finds its fields, converts the chosen ones to numbers, reports errors.
// CsvRows uses it.
#pragma once

#include "table/csv/csv_fields.hpp"
#include "table/csv/csv_options.hpp"
#include "table/csv/csv_view.hpp"
#include "table/csv/text_index.hpp"
#include "table/numbers/number_run.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nlsq::cli {

// Tells how to read a column that is not plainly numbers. Its cells are read without the fast parser.
struct SpecialColumn {
  std::size_t column = 0;
  int slot = -1;                 // for its numbers or times; -1: only texts are compared
  std::optional<Moment> origin;  // for a column of dates
  std::vector<std::pair<TextMatch, std::size_t>> texts;  // comparisons and their slots
  int group_slot = -1;  // for the numbers that its distinct texts get, for --group-by
};

// Says which column has the groups, and which slot takes their numbers.
struct GroupColumn {
  std::size_t column = 0, slot = 0;
  // The text of the group that was read last, with the delimiter behind it, and the number of that group.
  std::string_view last = {};
  double number = 0;
};

// Holds the properties that all records of a table share.
struct CsvLayout {
  CsvOptions options;
  CsvShape shape;
  std::size_t shape_line = 1;  // the line that determined the number of columns
  std::vector<int> slot_of;    // index of each column among the chosen ones, or -1
  std::size_t slots = 0;       // number of chosen columns
  std::vector<SpecialColumn> specials = {};
  std::size_t group_slot = TextIndex::npos;  // for the column of groups, if there is one
  // Columns whose bad cells are NaN and become errors only if their rows are fitted.
  std::vector<std::size_t> judged_later = {};
  // Columns that conditions read. Their infinite cells stay infinite, and are errors only if their rows are
  // fitted.
  std::vector<std::size_t> may_be_infinite = {};
  std::vector<std::size_t> keeps_missing = {};  // columns whose missing values are NaN and drop no row

  // Returns the entry of `column` in specials, and makes it if need be. The fast parser then skips these
  // cells.
  SpecialColumn& special(std::size_t column);
  const SpecialColumn* find_special(std::size_t column) const;
};

// Describes a bad cell that is an error only if its row is fitted. `at` is where the cell begins.
struct LateFault {
  const char* at = nullptr;
  std::string message;
};

class RecordParser {
 public:
  // All arguments must outlive the parser. If `comments` is false, comments behind data are not searched.
  // `groups` collects the texts of the column of groups, if there is one. If it is null, they are only
  // checked.
  RecordParser(const CsvLayout& layout, const CsvView& text, TextIndex* groups = nullptr,
               bool comments = true);

  enum class Outcome { row, dropped, need_more, fault };

  // Reads the record at `p` and moves `p` past it. Adds its lines to `lines`. Chosen column k goes to out[k *
  // stride]. Returns need_more if the text ends inside the record, and moves nothing then. Never returns
  // fault. Throws BadData.
  Outcome read(const char*& p, std::size_t& lines, double* out, std::size_t stride);

  // Reads the plain records at `p`, up to the first that needs read(). In a plain record all fields are
  // numbers, or groups, directly followed by a delimiter or a line feed. Returns their number. This is 0 if
  // read() has not found a plain record since the last call.
  std::size_t read_plain(const char*& p, double* out, std::size_t stride);

  // These describe the last record: the count of numbers too small for a double, and the text of the first of
  // them.
  std::size_t underflows() const { return underflows_; }
  const std::string& underflow() const { return underflow_; }
  // Returns the chosen columns of the last record whose numbers have a percent sign.
  const std::vector<std::size_t>& percents() const { return percents_; }
  // Returns the late fault of the last record, if this record is a row.
  const std::optional<LateFault>& late_fault() const { return late_; }
  // Returns the quote that was still open when the text ended, or null.
  const char* open_quote() const { return scanner_.open_quote(); }

 private:
  // Holds the first fault of a record. It is reported only if the record has no comment that explains it.
  struct Fault {
    enum Kind { value, too_few, too_many } kind = value;
    Field field;
    NumberStatus status = NumberStatus::ok;
    std::size_t column = 0;
    const char* at = nullptr;
  };

  // Reads the plain fields at `p`, and returns the column behind them.
  std::size_t read_fields(const char*& p, double* out, std::size_t stride);
  // Reads the fields from `column` on; the first of them is at `p`. Sets fault_ for a faulty record.
  Outcome scan(const char*& p, std::size_t column, std::size_t& lines, double* out, std::size_t stride);
  // Reads the record at `p` up to a comment behind its data. Returns Outcome::fault if there is none, or if
  // the record is faulty all the same.
  Outcome scan_before_comment(const char*& p, std::size_t& lines, double* out, std::size_t stride);
  // Reads a faulty record again, with NaN for bad cells of columns that are judged later.
  Outcome scan_for_later(const char*& p, std::size_t& lines, double* out, std::size_t stride);
  bool store_slowly(const Field& field, std::size_t column, double& value);
  bool store_special(const Field& field, const SpecialColumn& special, double* out, std::size_t stride);
  bool store_group(const Field& field, std::string_view text, std::size_t column, double& value);
  // Returns true if a condition may compare a cell of this column as an infinite number.
  bool keeps_infinite(std::size_t column, NumberStatus status) const {
    const std::vector<std::size_t>& columns = layout_.may_be_infinite;
    return status == NumberStatus::infinite && std::ranges::find(columns, column) != columns.end();
  }
  bool is_faulty(const Field& field, std::size_t column, NumberStatus status);
  // Returns true if a cell that is no number only makes `value` NaN, as the column may have missing values.
  bool store_missing(std::size_t column, NumberStatus status, double& value) const;
  [[noreturn]] void refuse() const;
  std::string message_of_value() const;
  [[noreturn]] void refuse_ragged(const char* at, std::size_t found, bool more) const;

  const CsvLayout& layout_;
  const CsvView& text_;
  TextIndex* groups_ = nullptr;
  FieldScanner scanner_;
  ReadNumberRun read_run_ = nullptr;  // null: numbers are read one by one
  NumberRun run_;
  std::optional<GroupColumn> group_;  // for read_run_with_group()
  const char* record_ = nullptr;      // start of the record
  bool missing_ = false, comments_ = true, for_later_ = false;
  bool plain_ = false;  // whether read() found its last record to be plain
  Fault fault_;
  std::optional<LateFault> late_;
  std::vector<std::size_t> percents_;
  std::size_t underflows_ = 0;
  std::string underflow_;
};

}  // namespace nlsq::cli
