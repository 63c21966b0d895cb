// Implements with_places(), which replaces row numbers in messages by places in the file.
#include "report/row_places.hpp"

#include <charconv>
#include <string_view>

namespace nlsq::cli {

std::string with_places(const std::string& message, std::size_t rows,
                        const std::function<std::string(std::size_t)>& place) {
  constexpr std::string_view kRow = "row ";
  std::string out;
  std::size_t done = 0;
  for (std::size_t at; (at = message.find(kRow, done)) != std::string::npos;) {
    const char* const digits = message.data() + at + kRow.size();
    const char* const end = message.data() + message.size();
    std::size_t row = 0;
    const auto [after, error] = std::from_chars(digits, end, row);
    const bool number = error == std::errc() && row < rows;
    const std::size_t stop = number ? static_cast<std::size_t>(after - message.data()) : at + kRow.size();
    out += message.substr(done, at - done);
    out += number ? place(row) : message.substr(at, stop - at);
    done = stop;
  }
  return out + message.substr(done);
}

std::string with_places(const std::string& message, const FitData& data) {
  return with_places(message, data.rows(), [&](std::size_t row) { return data.place(row); });
}

}  // namespace nlsq::cli
