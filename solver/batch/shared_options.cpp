// Implements check_shared() and note_parameters_on_bounds().
#include "batch/shared_options.hpp"

#include "batch/joint_solve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace nlsq::inline v0 {

void check_shared(const PreparedModel::Impl& model, const GroupOptions& options) {
  const auto& names = model.names;
  for (const std::string& name : options.share) {
    parameter_index(names, name, "share");
    if (std::ranges::count(options.share, name) > 1)
      throw ValidationError(fmt::format("share: '{}' is named twice", name));
  }
  const std::pair<const char*, bool> refused[] = {
      {"callable; give a formula or a built-in model", !model.formula},
      {"ties; write the formula with fewer parameters", !options.ties.empty()},
      {"loss other than linear", !options.loss.is_linear()},
      {"variable projection; each group's own parameters are eliminated anyway",
       options.variable_projection == VariableProjection::on},
      {"errors in x (sigma_x)", !options.sigma_x.empty()},
      {"second start; leave starts out and give starting values", options.starts != 1}};
  for (const auto& [what, given] : refused) {
    if (given) throw ValidationError(fmt::format("share: the joint fit takes no {}", what));
  }
}

void note_parameters_on_bounds(const Limits& limits, const std::vector<std::string>& fixed,
                               GroupsResult& fits) {
  const std::size_t n = fits.parameter_names.size();
  fits.at_bound.assign(fits.size() * n, 0);
  for (std::size_t j = 0; j < n; ++j) {
    if (std::ranges::count(fixed, fits.parameter_names[j]) > 0) continue;
    for (std::size_t k = 0; k < fits.size(); ++k)
      fits.at_bound[k * n + j] = is_on_bound(limits, static_cast<int>(j), fits.parameters(k, j));
  }
}

}  // namespace nlsq::inline v0
