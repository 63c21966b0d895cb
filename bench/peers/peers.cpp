// Lists the peers that were found.
#include "peers/peers.hpp"

#include "peers/peer_programs.hpp"

#include <fmt/format.h>

namespace bench {

std::string peer_versions() {
  std::string found, missing;
  const auto list = [&](const char* name, const std::string& version) {
    std::string& text = version.empty() ? missing : found;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", version.empty() ? name : version);
  };
  list("Ceres", detail::ceres_name());
  list("GSL", detail::gsl_name());
  list("cminpack", detail::cminpack_name());
  list("SciPy", detail::scipy_name());
  list("gnuplot", detail::gnuplot_name());
  if (found.empty()) found = "none";
  return missing.empty() ? found : found + "; not found: " + missing;
}

}  // namespace bench
