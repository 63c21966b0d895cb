// Numbers the distinct texts of a column in the order of their first appearance. CsvRows has one for its
// piece of the file, and CsvCollector one for the whole.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace nlsq::cli {

class TextIndex {
 public:
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);

  // The number of a text, or npos if it was not added.
  std::size_t find(std::string_view text) {
    if (is_last(text)) return last_;
    const auto known = numbers_.find(text);
    return known == numbers_.end() ? npos : last_ = known->second;
  }
  std::size_t add(std::string_view text) {
    if (is_last(text)) return last_;
    const auto [entry, fresh] = numbers_.try_emplace(std::string(text), texts_.size());
    if (fresh) texts_.push_back(entry->first);
    return last_ = entry->second;
  }

  std::size_t size() const { return texts_.size(); }
  const std::string& text(std::size_t number) const { return texts_[number]; }
  void clear() {
    texts_.clear();
    numbers_.clear();
  }
  std::vector<std::string> take() {
    numbers_.clear();
    return std::exchange(texts_, {});
  }

 private:
  // It is not noexcept, so that the table keeps the hashes. It would otherwise compute those of neighbours
  // again for each look-up.
  struct Hash {
    using is_transparent = void;  // lets a view be looked up without a copy
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  // Rows of one group mostly follow each other. Names are short, so a loop is faster than a call.
  bool is_last(std::string_view text) const {
    if (last_ >= texts_.size() || texts_[last_].size() != text.size()) return false;
    const char* const known = texts_[last_].data();
    std::size_t i = 0;
    while (i < text.size() && known[i] == text[i]) ++i;
    return i == text.size();
  }

  std::vector<std::string> texts_;
  std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>> numbers_;
  std::size_t last_ = 0;
};

}  // namespace nlsq::cli
