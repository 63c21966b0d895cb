// Writes JSON text: objects, arrays, numbers that are read back with the same bits, texts in UTF-8.
#pragma once

#include <nlsq/export.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

// Returns true for UTF-8 without control characters.
NLSQ_API bool is_text(std::string_view text);

class NLSQ_API JsonWriter {
 public:
  void begin_object() { begin('{'); }
  void end_object() { end('}'); }
  void begin_array() { begin('['); }
  void end_array() { end(']'); }
  void key(std::string_view name);

  void value(double number);  // null if it is not finite
  void value(bool truth);
  void value(std::string_view text);  // bytes that are not UTF-8 are replaced
  void value(const char* text) { value(std::string_view(text)); }
  // Numbers that are not known are null, like those that are not finite.
  void value(std::optional<double> number) { number ? value(*number) : null(); }
  void null();
  template <class T>
  requires std::is_integral_v<T>
  void value(T number) { literal(std::to_string(number)); }
  void value(const std::vector<double>& numbers);
  void value(const std::vector<std::string>& texts);

  // Writes members of an object: names and values in turn.
  template <class T, class... More>
  void members(std::string_view name, const T& content, const More&... more) {
    key(name);
    value(content);
    if constexpr (sizeof...(more) > 0) members(more...);
  }
  // Writes an object of these members.
  template <class... Members>
  void object(const Members&... all) {
    begin_object();
    members(all...);
    end_object();
  }
  // Writes a member that is an array; write(item) writes each item.
  void list(std::string_view name, const auto& items, auto write) {
    key(name);
    begin_array();
    for (const auto& item : items) write(item);
    end_array();
  }
  std::string take() { return std::move(text_); }

 private:
  void begin(char bracket);
  void end(char bracket);
  void before_value();
  void literal(std::string_view text);

  std::string text_;
  std::vector<std::size_t> sizes_;  // members of each open object or array
  bool after_key_ = false;
};

}  // namespace nlsq::inline v0
