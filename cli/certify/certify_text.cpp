// Writes the end of a fit that starts at the parameters that --certify judged.
#include "certify/certify_text.hpp"

#include "report/report.hpp"

#include <fmt/format.h>

#include <cmath>
#include <vector>

namespace nlsq::cli {

std::string moves_table(const FitResult& judged, const FitResult& fitted) {
  std::vector<std::vector<std::string>> rows = {
      {"parameter", "given", "fit", "moved by", "in standard errors"}};
  for (std::size_t j = 0; j < judged.parameters.size(); ++j) {
    if (judged.fixed[j]) continue;
    const double error = fitted.standard_errors[j], move = fitted.parameters[j] - judged.parameters[j];
    rows.push_back({judged.parameter_names[j], format_estimate(judged.parameters[j], error),
                    format_estimate(fitted.parameters[j], error), fmt::format("{:+.3g}", move),
                    std::isfinite(move / error) ? fmt::format("{:+.2g}", move / error) : "undefined"});
  }
  return fmt::format("A fit that starts there ends so ({}):\n{}\n", name(fitted.summary.verdict),
                     aligned_table(rows, "  "));
}

}  // namespace nlsq::cli
