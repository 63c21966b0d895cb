// Implements RecordParser: reads the chosen numbers of one record and reports its errors.
#include "table/csv/csv_record.hpp"

#include "errors.hpp"
#include "table/csv/csv_comment.hpp"
#include "table/csv/group_run.hpp"
#include "table/numbers/date_time.hpp"
#include "table/numbers/decimal_number.hpp"
#include "table/source/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace nlsq::cli {

namespace {

bool has_digit(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Suggests an option for a comma, which may separate thousands or decimals. 1,234.5 and 1.234,5 show which it
// is, 0,75 as well, and 1,500 does not.
std::string remedy_for_comma(std::string_view text, bool point) {
  const std::size_t last = text.rfind(',');
  if (point && text.rfind('.') < last) return "for numbers like this give --decimal , --thousands .";
  if (point) return "for a thousands separator give --thousands ,";
  const bool three_digits = text.size() - last == 4;
  return three_digits ? "for a thousands separator give --thousands ,; for a decimal comma give --decimal ,"
                      : "for a decimal comma give --decimal ,";
}

// Returns true if a text begins like 2024-02-30, which has the form of a date but is no day.
bool is_wrong_day(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00";
  if (text.size() < kForm.size()) return false;
  for (std::size_t i = 0; i < kForm.size(); ++i)
    if (kForm[i] == '-' ? text[i] != '-' : !has_digit(text.substr(i, 1))) return false;
  return !parse_moment(text.substr(0, kForm.size()));
}

const char* leaving_out(const CsvOptions& options) {
  return options.of_points ? "remove the row" : "leave the row out with --where";
}

// Suggests an option for a text that should be a number.
std::string remedy(std::string_view text, const CsvOptions& options, bool may_be_header) {
  if (parse_moment(text)) return "dates are read only in columns whose first cell is a date";
  if (is_wrong_day(text)) return "the calendar has no such day from 1700 to 2250; correct it";
  if (looks_like_date(text))
    return fmt::format("dates and times are read if they are written as {}: rewrite the column so",
                       kDateForms);
  const bool comma = text.find(',') != std::string_view::npos,
             point = text.find('.') != std::string_view::npos;
  const char thousands = options.number.thousands;
  if (has_digit(text) && thousands != '\0' && text.find(thousands) != std::string_view::npos) {
    const std::string other = thousands == '.'   ? "leave --thousands out"
                              : thousands == ',' ? "give --decimal , instead"
                                                 : "correct it";
    return fmt::format(
        "--thousands '{0}' separates groups of exactly three digits; if '{0}' means something "
        "else here, {1}",
        thousands, other);
  }
  if (has_digit(text) && comma && options.number.decimal == '.' && thousands == '\0')
    return remedy_for_comma(text, point);
  if (has_digit(text) && point && options.number.decimal == ',' && thousands == '\0')
    return "numbers are read with --decimal ,; for a thousands separator give --thousands .";
  double value = 0;
  std::string exponent(text);
  std::replace_if(
      exponent.begin(), exponent.end(), [](char c) { return c == 'd' || c == 'D'; }, 'e');
  if (exponent != text && parse_number(exponent, options.number, value) == NumberStatus::ok) {
    return "write exponents with e";
  }
  if (may_be_header) return "if this line is a header, give --header yes";
  if (options.of_points) return "correct it, or remove the row";
  return "correct it, choose another column, or leave such rows out with --where, or such lines with "
         "--comment or --skip";
}

}  // namespace

SpecialColumn& CsvLayout::special(std::size_t column) {
  for (SpecialColumn& known : specials) {
    if (known.column == column) return known;
  }
  specials.push_back({column, std::exchange(slot_of.at(column), -1), {}, {}, -1});
  return specials.back();
}

const SpecialColumn* CsvLayout::find_special(std::size_t column) const {
  for (const SpecialColumn& special : specials) {
    if (special.column == column) return &special;
  }
  return nullptr;
}

RecordParser::RecordParser(const CsvLayout& layout, const CsvView& text, TextIndex* groups, bool comments)
    : layout_(layout), text_(text), groups_(groups), scanner_(text, layout.shape.delimiter),
      comments_(comments) {
  // The fast reader handles neither runs of blanks nor thousands separators.
  if (layout.shape.delimiter != kBlanks && layout.options.number.thousands == '\0')
    read_run_ = number_run_reader();
  run_.delimiter = layout.shape.delimiter;
  run_.decimal = layout.options.number.decimal;
  run_.slot_of = layout.slot_of.data();
  run_.columns = layout.shape.columns();
  if (const auto group = only_group_column(layout); group && groups != nullptr) group_ = *group;
}

RecordParser::Outcome RecordParser::read(const char*& p, std::size_t& lines, double* out,
                                         std::size_t stride) {
  const char* q = record_ = p;
  missing_ = false;
  late_.reset();
  percents_.clear();
  underflows_ = 0;
  const std::size_t column = read_fields(q, out, stride);
  plain_ = column == run_.columns;
  if (plain_) {
    p = q;
    ++lines;
    return Outcome::row;
  }
  Outcome outcome = scan(q, column, lines, out, stride);
  if (outcome != Outcome::fault) {
    if (outcome != Outcome::need_more) p = q;
    return outcome;
  }
  outcome = scan_before_comment(p, lines, out, stride);
  if (outcome == Outcome::fault && !(layout_.judged_later.empty() && layout_.may_be_infinite.empty()))
    outcome = scan_for_later(p, lines, out, stride);
  if (outcome == Outcome::fault) refuse();
  return outcome;
}

RecordParser::Outcome RecordParser::scan_for_later(const char*& p, std::size_t& lines, double* out,
                                                   std::size_t stride) {
  for_later_ = true;
  const char* q = p;
  Outcome outcome = scan_before_comment(q, lines, out, stride);
  if (outcome == Outcome::fault) {
    q = p;
    late_.reset();
    outcome = scan(q, 0, lines, out, stride);
  }
  for_later_ = false;
  if (outcome != Outcome::fault) {
    if (outcome != Outcome::need_more) p = q;
    return outcome;
  }
  late_.reset();  // another cell is bad, or the number of fields: the first fault of the record is the error
  q = p;
  return scan(q, 0, lines, out, stride);
}

RecordParser::Outcome RecordParser::scan_before_comment(const char*& p, std::size_t& lines, double* out,
                                                        std::size_t stride) {
  const char* const comment =
      comments_ ? find_inline_comment(p, text_.end(), layout_.options.comment) : nullptr;
  if (comment == nullptr) return Outcome::fault;
  const char* end = comment;
  while (*end != '\n' && *end != '\r' && end != text_.end()) ++end;
  if (text_.is_half_an_ending(end) || (end == text_.end() && !text_.at_end())) return Outcome::need_more;
  const std::string_view data = without_comment(p, comment, layout_.shape.delimiter);
  std::string line(data);
  line.append(kPadding, '\0');
  CsvView alone = text_;
  alone.first = line.data();
  alone.last = line.data() + data.size();
  alone.complete = true;
  RecordParser parser(layout_, alone, groups_, false);
  const char* at = alone.first;
  std::size_t inner_lines = 0;
  Outcome outcome = Outcome::fault;
  try {
    parser.record_ = at;
    parser.for_later_ = for_later_;
    outcome = parser.scan(at, 0, inner_lines, out, stride);
  } catch (const BadData&) {  // a quote is wrong; the message about the whole line has the right place
  }
  if (outcome == Outcome::fault) return outcome;
  underflows_ = parser.underflows_;
  underflow_ = parser.underflow_;
  percents_ = parser.percents_;
  if (parser.late_) late_ = {p + (parser.late_->at - alone.first), parser.late_->message};
  lines += inner_lines + (end == text_.end() ? 0 : 1);
  p = end + (end == text_.end() ? 0 : *end == '\r' && end[1] == '\n' ? 2 : 1);
  return outcome;
}

RecordParser::Outcome RecordParser::scan(const char*& p, std::size_t column, std::size_t& lines, double* out,
                                         std::size_t stride) {
  const char delimiter = layout_.shape.delimiter, decimal = layout_.options.number.decimal;
  const bool plain = layout_.options.number.thousands == '\0';
  const std::size_t count = layout_.shape.columns();
  const int* const slot_of = layout_.slot_of.data();
  const char* q = p;
  std::size_t new_lines = 0;
  for (;; ++column) {
    if (column == count) {
      fault_ = {Fault::too_many, {}, NumberStatus::ok, column, q};
      return Outcome::fault;
    }
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
      if (after == After::need_more) return Outcome::need_more;
      if (place != nullptr) {
        if (!store_slowly(field, column, *place)) return Outcome::fault;
        if (field.text.ends_with('%')) percents_.push_back(static_cast<std::size_t>(slot));
      } else if (!layout_.specials.empty()) {
        const SpecialColumn* const special = layout_.find_special(column);
        if (special != nullptr && !store_special(field, *special, out, stride)) return Outcome::fault;
      }
    }
    if (after == After::need_more) return Outcome::need_more;
    if (after == After::delimiter) continue;
    if (column + 1 != count) {
      fault_ = {Fault::too_few, {}, NumberStatus::ok, column, q};
      return Outcome::fault;
    }
    p = q;
    lines += new_lines;
    return missing_ ? Outcome::dropped : Outcome::row;
  }
}

bool RecordParser::store_slowly(const Field& field, std::size_t column, double& value) {
  const NumberStatus status = parse_number(field.text, layout_.options.number, value);
  if (status == NumberStatus::ok) return true;
  if (store_missing(column, status, value)) return true;
  if (status != NumberStatus::underflow) {
    if (is_faulty(field, column, status)) return false;
    if (!keeps_infinite(column, status)) value = std::numeric_limits<double>::quiet_NaN();
    return true;
  }
  if (underflows_++ == 0) underflow_ = printable(field.text);
  value = 0.0;
  return true;
}

// Stores a date as seconds, compares texts, and numbers groups.
bool RecordParser::store_special(const Field& field, const SpecialColumn& special, double* out,
                                 std::size_t stride) {
  std::string_view before_comment = field.text;
  if (!field.quoted && special.column + 1 == layout_.shape.columns()) {
    const char* const begin = field.text.data();
    const char* const comment =
        find_inline_comment(begin, begin + field.text.size(), layout_.options.comment);
    if (comment != nullptr) before_comment = trim_blanks({begin, static_cast<std::size_t>(comment - begin)});
  }
  for (const auto& [match, slot] : special.texts) {
    const bool same = match.text == field.text || match.text == before_comment;
    out[slot * stride] = same != match.negated;
  }
  if (special.group_slot >= 0) {
    double& group = out[static_cast<std::size_t>(special.group_slot) * stride];
    if (!store_group(field, before_comment, special.column, group)) return false;
  }
  if (special.slot < 0) return true;
  double& value = out[static_cast<std::size_t>(special.slot) * stride];
  if (!special.origin) {
    if (field.text.ends_with('%')) percents_.push_back(static_cast<std::size_t>(special.slot));
    return store_slowly(field, special.column, value);
  }
  if (const auto moment = parse_moment(before_comment); moment && moment->comparable(*special.origin)) {
    value = moment->seconds_since(*special.origin);
    return true;
  }
  const NumberStatus status = parse_number(field.text, layout_.options.number, value);
  if (store_missing(special.column, status, value)) return true;
  value = std::numeric_limits<double>::quiet_NaN();
  return !is_faulty(field, special.column,
                    status == NumberStatus::missing ? NumberStatus::missing : NumberStatus::text);
}

// Stores the number of a group. A text is examined only when it is new.
bool RecordParser::store_group(const Field& field, std::string_view text, std::size_t column, double& value) {
  value = 0;
  std::size_t number = groups_ == nullptr ? TextIndex::npos : groups_->find(text);
  if (number == TextIndex::npos) {
    if (is_missing_text(trim_blanks(text))) {
      value = std::numeric_limits<double>::quiet_NaN();
      return !is_faulty(field, column, NumberStatus::missing);
    }
    if (groups_ == nullptr) return true;
    number = groups_->add(text);
  }
  value = static_cast<double>(number);
  return true;
}

bool RecordParser::store_missing(std::size_t column, NumberStatus status, double& value) const {
  const std::vector<std::size_t>& columns = layout_.keeps_missing;
  if (status != NumberStatus::missing || std::ranges::find(columns, column) == columns.end()) return false;
  value = std::numeric_limits<double>::quiet_NaN();
  return true;
}

// Returns true if a cell that is no number makes the record faulty. Otherwise the row is left out, or the
// cell is judged later.
bool RecordParser::is_faulty(const Field& field, std::size_t column, NumberStatus status) {
  if (status == NumberStatus::missing && layout_.options.missing == MissingPolicy::drop) {
    missing_ = true;
    return false;
  }
  fault_ = {Fault::value, field, status, column, nullptr};
  const std::vector<std::size_t>& later = layout_.judged_later;
  const bool waits = std::ranges::find(later, column) != later.end() || keeps_infinite(column, status);
  if (!for_later_ || !waits) return true;
  if (!late_) late_ = {field.begin, message_of_value()};
  return false;
}

void RecordParser::refuse() const {
  if (fault_.kind != Fault::value)
    refuse_ragged(fault_.at, fault_.column + 1, fault_.kind == Fault::too_many);
  text_.fail(fault_.field.begin, message_of_value());
}

// Returns the message about a bad cell.
std::string RecordParser::message_of_value() const {
  const Field& field = fault_.field;
  const std::string what = printable(field.text), where = column_label(layout_.shape, fault_.column);
  switch (fault_.status) {
    case NumberStatus::missing:
      return fmt::format("{} is missing in {}; --missing drop leaves such rows out",
                         what.empty() ? "a value" : "a value ('" + what + "')", where);
    case NumberStatus::overflow:
      return fmt::format("'{}' in {} is beyond the largest double (1.8e308); rescale the column", what,
                         where);
    case NumberStatus::infinite:
      return fmt::format("'{}' in {} is not a finite number; correct it, or {}", what, where,
                         leaving_out(layout_.options));
    case NumberStatus::hex:
      return fmt::format("'{}' in {} is a hexadecimal number; write it in decimal", what, where);
    default: break;
  }
  if (const TimeOrigin* const time = layout_.shape.time(fault_.column)) {
    const auto moment = parse_moment(field.text);
    return fmt::format(
        "'{}' in {} {} '{}', the first of this column; {}correct it, or {}", what, where,
        !moment                                     ? "is not a date or time such as"
        : moment->has_date != time->moment.has_date ? "has no date or another form than"
                                                    : "has or lacks an offset from UTC, unlike",
        printable(time->text),
        !moment && looks_like_date(field.text) ? fmt::format("dates are read as {}; ", kDateForms) : "",
        leaving_out(layout_.options));
  }
  const bool may_be_header = !layout_.shape.has_header && layout_.shape_line == text_.first_line;
  return fmt::format("'{}' in {} is not a number; {}", what, where,
                     remedy(field.text, layout_.options, may_be_header));
}

void RecordParser::refuse_ragged(const char* at, std::size_t found, bool more) const {
  const char* end = at;
  if (!more) {  // `at` is after the line ending: point before it
    while (end > record_ && (end[-1] == '\n' || end[-1] == '\r')) --end;
  }
  std::string_view record{record_, static_cast<std::size_t>(text_.end() - record_)};
  record = record.substr(0, record.find_first_of("\r\n"));
  const bool split = layout_.shape.delimiter == kBlanks && has_date_and_time(record);
  text_.fail(end,
             fmt::format("this row has {} {} fields ({}) where line {} has {}: '{}'; {}",
                         more ? "at least" : "only", found, delimiter_name(layout_.shape.delimiter),
                         layout_.shape_line, layout_.shape.columns(), printable(record),
                         split ? "a date and its time are two columns if blanks delimit: name both, and add "
                                 "them, as in --x '$1+$2'"
                         : layout_.shape.has_header && more
                             ? "correct it, quote fields that contain the delimiter, give --delimiter, or "
                               "--skip lines of text above the table"
                             : "correct it, quote fields that contain the delimiter, or give --delimiter"));
}

}  // namespace nlsq::cli
