// Writes JSON with an indentation of two.
#include <nlsq/json/writer.hpp>

#include <fmt/format.h>

#include <cmath>

namespace nlsq::inline v0 {

namespace {

// Returns the length of the UTF-8 sequence at the start of the text; 0 if there is none.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return continues(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool overlong = first == 0xE0 && second < 0xA0, surrogate = first == 0xED && second > 0x9F;
    return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool overlong = first == 0xF0 && second < 0x90, beyond = first == 0xF4 && second > 0x8F;
    return continues(1) && continues(2) && continues(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

}  // namespace

bool is_text(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    if (length == 0 || static_cast<unsigned char>(text[0]) < 0x20 || text[0] == 0x7f) return false;
    text.remove_prefix(length);
  }
  return true;
}

void JsonWriter::before_value() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (sizes_.empty()) return;
  text_ += sizes_.back()++ == 0 ? "\n" : ",\n";
  text_.append(2 * sizes_.size(), ' ');
}

void JsonWriter::begin(char bracket) {
  before_value();
  text_ += bracket;
  sizes_.push_back(0);
}

void JsonWriter::end(char bracket) {
  const bool any = sizes_.back() > 0;
  sizes_.pop_back();
  if (any) {
    text_ += '\n';
    text_.append(2 * sizes_.size(), ' ');
  }
  text_ += bracket;
}

void JsonWriter::literal(std::string_view text) {
  before_value();
  text_ += text;
}

void JsonWriter::key(std::string_view name) {
  value(name);
  text_ += ": ";
  after_key_ = true;
}

void JsonWriter::null() { literal("null"); }

void JsonWriter::value(bool truth) { literal(truth ? "true" : "false"); }

void JsonWriter::value(double number) {
  if (!std::isfinite(number)) return null();
  std::string text = fmt::format("{}", number);  // the shortest text that is read back as the same number
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  literal(text);
}

void JsonWriter::value(std::string_view text) {
  before_value();
  text_ += '"';
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    const char c = text[0];
    if (length == 0) text_ += "\xEF\xBF\xBD";
    else if (c == '"' || c == '\\') text_.append({'\\', c});
    else if (c == '\n') text_ += "\\n";
    else if (c == '\t') text_ += "\\t";
    else if (static_cast<unsigned char>(c) < 0x20)
      text_ += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else text_ += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  text_ += '"';
}

void JsonWriter::value(const std::vector<double>& numbers) {
  begin_array();
  for (const double number : numbers) value(number);
  end_array();
}

void JsonWriter::value(const std::vector<std::string>& texts) {
  begin_array();
  for (const std::string& text : texts) value(std::string_view(text));
  end_array();
}

}  // namespace nlsq::inline v0
