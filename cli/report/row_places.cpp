// Implements with_places(), which replaces row numbers in messages by places in the file.
#include "report/row_places.hpp"

#include "table/characters.hpp"

#include <fmt/format.h>

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

void name_places(const FitData& data, FitResult& fit) {
  fit.summary.message = with_places(fit.summary.message, data);
  for (std::string& warning : fit.warnings) warning = with_places(warning, data);
}

std::string placed_message(const DataError& error, const FitData& data) {
  std::string message = error.what();
  if (error.row() == DataError::npos || error.row() >= data.rows())
    return fmt::format("{}: {}", data.source, with_places(message, data));
  const std::string row = fmt::format("in row {}", error.row());
  const std::size_t at = message.find(row);
  const bool whole =
      at != std::string::npos && (at + row.size() == message.size() || !is_digit(message[at + row.size()]));
  if (whole) message.replace(at, row.size(), "here");
  return fmt::format("{}: {}", data.place(error.row()), with_places(message, data));
}

}  // namespace nlsq::cli
