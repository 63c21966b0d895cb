// Implements RecordParser: reads the chosen numbers of one record and reports its errors.
#include "table/csv/csv_record.hpp"

#include "table/numbers/decimal_number.hpp"
#include "table/source/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nlsq::cli {

namespace {

bool has_digit(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Suggests an option for a text that should be a number.
std::string remedy(std::string_view text, const CsvOptions& options, bool may_be_header) {
  const bool comma = text.find(',') != std::string_view::npos,
             point = text.find('.') != std::string_view::npos;
  if (has_digit(text) && comma && options.number.decimal == '.' && options.number.thousands == '\0') {
    return point ? "for a thousands separator give --thousands ," : "for a decimal comma give --decimal ,";
  }
  if (has_digit(text) && point && options.number.decimal == ',') return "numbers are read with --decimal ,";
  double value = 0;
  std::string exponent(text);
  std::replace_if(
      exponent.begin(), exponent.end(), [](char c) { return c == 'd' || c == 'D'; }, 'e');
  if (exponent != text && parse_number(exponent, options.number, value) == NumberStatus::ok) {
    return "write exponents with e";
  }
  if (may_be_header) return "if this line is a header, give --header yes";
  return "correct it, choose another column, or leave such lines out with --comment or --skip";
}

}  // namespace

RecordParser::RecordParser(const CsvLayout& layout, const CsvView& text)
    : layout_(layout), text_(text), scanner_(text, layout.shape.delimiter) {
  // The fast reader handles neither runs of blanks nor thousands separators.
  if (layout.shape.delimiter != kBlanks && layout.options.number.thousands == '\0')
    read_run_ = number_run_reader();
  run_.delimiter = layout.shape.delimiter;
  run_.decimal = layout.options.number.decimal;
  run_.slot_of = layout.slot_of.data();
  run_.columns = layout.shape.columns();
}

RecordParser::Outcome RecordParser::read(const char*& p, std::size_t& lines, double* out,
                                         std::size_t stride) {
  const char delimiter = layout_.shape.delimiter, decimal = layout_.options.number.decimal;
  const bool plain = layout_.options.number.thousands == '\0';
  const std::size_t count = layout_.shape.columns();
  const int* const slot_of = layout_.slot_of.data();
  const char* q = record_ = p;
  std::size_t new_lines = 0;
  missing_ = false;
  underflows_ = 0;
  std::size_t column = 0;
  if (read_run_ != nullptr) {
    run_.out = out;
    run_.stride = stride;
    column = read_run_(q, run_);
    if (column == count) {
      p = q;
      ++lines;
      return Outcome::row;
    }
  }
  for (;; ++column) {
    if (column == count) refuse_ragged(q, column + 1, true);
    const int slot = slot_of[column];
    double* const place = slot >= 0 ? out + static_cast<std::size_t>(slot) * stride : nullptr;
    const char* number_end = nullptr;
    if (place != nullptr && plain) {
      const char* const start = scanner_.skip_blanks(q);
      number_end = parse_decimal(start, decimal, *place);
      if (number_end == nullptr) number_end = parse_plain_number(start, text_.end(), decimal, *place);
      if (number_end != nullptr) {
        if (*number_end == delimiter && delimiter != kBlanks) {
          q = number_end + 1;
          continue;
        }
        if (!scanner_.stops(*number_end)) number_end = scanner_.skip_blanks(number_end);
        if (!scanner_.stops(*number_end)) number_end = nullptr;
      }
    }
    After after;
    if (number_end != nullptr) {
      q = number_end;
      after = scanner_.finish(q, new_lines);
    } else {
      Field field;
      after = scanner_.scan(q, new_lines, field);
      if (after != After::need_more && place != nullptr) store_slowly(field, column, *place);
    }
    if (after == After::need_more) return Outcome::need_more;
    if (after == After::delimiter) continue;
    if (column + 1 != count) refuse_ragged(q, column + 1, false);
    p = q;
    lines += new_lines;
    return missing_ ? Outcome::dropped : Outcome::row;
  }
}

void RecordParser::store_slowly(const Field& field, std::size_t column, double& value) {
  const NumberStatus status = parse_number(field.text, layout_.options.number, value);
  switch (status) {
    case NumberStatus::ok: return;
    case NumberStatus::underflow:
      if (underflows_++ == 0) underflow_ = printable(field.text);
      value = 0.0;
      return;
    case NumberStatus::missing:
      if (layout_.options.missing == MissingPolicy::error) refuse(field, column, status);
      missing_ = true;
      return;
    default: refuse(field, column, status);
  }
}

void RecordParser::refuse(const Field& field, std::size_t column, NumberStatus status) const {
  const std::string what = printable(field.text), where = column_label(layout_.shape, column);
  switch (status) {
    case NumberStatus::missing:
      text_.fail(field.begin, fmt::format("{} is missing in {}; --missing drop leaves such rows out",
                                          what.empty() ? "a value" : "a value ('" + what + "')", where));
    case NumberStatus::overflow:
      text_.fail(
          field.begin,
          fmt::format("'{}' in {} is beyond the largest double (1.8e308); rescale the column", what, where));
    case NumberStatus::infinite:
      text_.fail(field.begin,
                 fmt::format("'{}' in {} is not a finite number; correct it, or leave the row out by "
                             "commenting it",
                             what, where));
    case NumberStatus::hex:
      text_.fail(field.begin,
                 fmt::format("'{}' in {} is a hexadecimal number; write it in decimal", what, where));
    default: {
      const bool may_be_header = !layout_.shape.has_header && layout_.shape_line == text_.first_line;
      text_.fail(field.begin, fmt::format("'{}' in {} is not a number; {}", what, where,
                                          remedy(field.text, layout_.options, may_be_header)));
    }
  }
}

void RecordParser::refuse_ragged(const char* at, std::size_t found, bool more) const {
  const char* end = at;
  if (!more) {  // `at` is after the line ending: point before it
    while (end > record_ && (end[-1] == '\n' || end[-1] == '\r')) --end;
  }
  const std::string_view record{record_, static_cast<std::size_t>(text_.end() - record_)};
  text_.fail(
      end, fmt::format(
               "this row has {} {} fields ({}) where line {} has {}: '{}'; correct it, quote fields that "
               "contain the delimiter, or give --delimiter",
               more ? "at least" : "only", found, delimiter_name(layout_.shape.delimiter), layout_.shape_line,
               layout_.shape.columns(), printable(record.substr(0, record.find_first_of("\r\n")))));
}

}  // namespace nlsq::cli
