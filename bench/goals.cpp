// Formats the table of goals.
#include "goals.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace bench {

std::string goals_table(const std::vector<Goal>& goals) {
  constexpr const char* kLayout = "{:<8} {:<62} {:>16} {:>14}  {}\n";
  std::string text = fmt::format(kLayout, "suite", "figure", "goal", "measured", "");
  for (const Goal& goal : goals) {
    text += fmt::format(
        kLayout, goal.suite, goal.figure,
        fmt::format("{} {:.4g}{}", goal.asked == Asked::at_least ? ">=" : "<=", goal.limit, goal.unit),
        fmt::format("{:.3g}{}", goal.measured, goal.unit), goal.met() ? "met" : "MISSED");
  }
  const auto met = std::count_if(goals.begin(), goals.end(), [](const Goal& goal) { return goal.met(); });
  return text + fmt::format("{} of {} goals met\n", met, goals.size());
}

}  // namespace bench
