// Defines a result that is a table: intervals, derived quantities, the bootstrap.
#pragma once

#include "c/handles.hpp"
#include "c/results/caller_result.hpp"
#include "policy_text.hpp"  // split(), trimmed()

#include <nlsq/json/writer.hpp>
#include <nlsq/matrix.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace nlsq::inline v0::c {

// Holds a table with a line for each parameter or quantity. All its columns are arrays of the result, and its
// texts have a line for each line of the table.
class TableResult final : public Result {
 public:
  explicit TableResult(double confidence) {
    json_.begin_object();
    add("confidence", confidence);
  }
  void add(std::string_view name, double number) {
    contents_.numbers.emplace(name, [number](const Result&) { return number; });
    json_.members(name, number);
  }
  void add(std::string_view name, const std::vector<double>& column) {
    contents_.arrays.emplace(name, [column](const Result&) { return column_array(column); });
    json_.members(name, column);
  }
  void add(std::string_view name, const std::vector<std::string>& texts) {
    contents_.texts.emplace(name, [all = lines(texts)](const Result&) { return all; });
    json_.members(name, texts);
  }
  // Adds an array that the JSON leaves out, because it may be large.
  void add(std::string_view name, const Matrix& values) {
    contents_.arrays.emplace(name, [values](const Result&) { return matrix_array(values); });
  }
  // Call it when all columns have been added.
  nlsq_result* finish(std::shared_ptr<TableResult> self) {
    json_.end_object();
    text_ = json_.take() + "\n";
    return to_handle<nlsq_result>(std::move(self));
  }

 private:
  const Contents& contents() const override { return contents_; }
  std::string make_json() const override { return text_; }
  std::string make_report() const override { return text_; }

  Contents contents_;
  JsonWriter json_;
  std::string text_;
};

// Adds one column for a member of all items.
void add_column(TableResult& table, std::string_view name, const auto& items, auto member) {
  using Value =
      std::conditional_t<std::is_arithmetic_v<std::decay_t<decltype(std::invoke(member, items[0]))>>, double,
                         std::string>;
  std::vector<Value> column;
  for (const auto& item : items) column.push_back(static_cast<Value>(std::invoke(member, item)));
  table.add(name, column);
}

// Returns the names or quantities in a text, which the separator divides.
inline std::vector<std::string> listed(std::string_view text, char separator) {
  std::vector<std::string> out;
  for (const std::string_view part : split(text, separator)) {
    if (const std::string_view one = trimmed(part); !one.empty()) out.emplace_back(one);
  }
  return out;
}

}  // namespace nlsq::inline v0::c
