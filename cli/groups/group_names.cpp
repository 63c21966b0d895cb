// Implements GroupNames.
#include "groups/group_names.hpp"

#include "table/numbers/number.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>

namespace nlsq::cli {

namespace {

// Returns true if the text is a whole number as it is usually written. No other text in this form is the same
// number.
bool is_plain_number(const std::string& text) {
  constexpr std::size_t kMostDigits = 15;
  return !text.empty() && text.size() <= kMostDigits && (text[0] != '0' || text.size() == 1) &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Returns for each text the first text that is the same number. The result is empty if a text is not a
// number, if a number is too large to differ from others as a double, or if no two texts are equal.
std::vector<double> merged(const std::vector<std::string>& texts, const NumberFormat& format) {
  if (std::ranges::all_of(texts, is_plain_number)) return {};
  std::unordered_map<double, std::size_t> first;
  std::vector<double> to;
  bool any = false;
  for (std::size_t k = 0; k < texts.size(); ++k) {
    double value = 0;
    if (parse_number(texts[k], format, value) != NumberStatus::ok) return {};
    if (std::fabs(value) >= kFirstMerged) return {};
    const std::size_t known = first.try_emplace(value, k).first->second;
    any = any || known != k;
    to.push_back(static_cast<double>(known));
  }
  return any ? to : std::vector<double>();
}

}  // namespace

GroupNames::GroupNames(const FitData& data, const NumberFormat& format) : data_(data), column_(data.group) {
  if (!data.more_y.empty()) return;  // names of columns stay apart even if they are equal numbers
  const std::vector<double> to = merged(data.group_texts, format);
  if (to.empty()) return;
  values_.resize(column_.size());
  for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = to[static_cast<std::size_t>(data.group[i])];
  column_ = Column(values_);
}

std::string GroupNames::name(std::size_t row) const {
  const double value = data_.group[row];
  if (data_.group_texts.empty()) return fmt::format("{}", value == 0 ? 0.0 : value);
  return data_.group_texts[static_cast<std::size_t>(value)];
}

}  // namespace nlsq::cli
