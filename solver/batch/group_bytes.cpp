// Implements group_bytes() and take_group_bytes().
#include "batch/group_bytes.hpp"

#include "support/bytes.hpp"

#include <algorithm>
#include <utility>

namespace nlsq::inline v0 {

std::string group_bytes(const GroupsResult& fits, std::span<const std::size_t> groups) {
  ByteWriter out;
  const std::size_t n = fits.parameter_names.size();
  for (const std::size_t k : groups) {
    for (const Matrix* values : {&fits.parameters, &fits.standard_errors})
      out.put_all(std::span(values->data() + k * n, n));
    out.put_all(std::span(fits.at_bound).subspan(k * n, n));
    for (const auto* values : {&fits.cost, &fits.rss, &fits.r_squared, &fits.decrement_sigma})
      out.put((*values)[k]);
    out.put(fits.dof[k]);
    out.put(fits.verdict[k]);
    out.put(fits.termination[k]);
    out.put(fits.iterations[k]);
    out.put_text(fits.message[k]);
    out.put_text(fits.warnings[k]);
  }
  return std::move(out.text());
}

void take_group_bytes(std::string_view bytes, std::span<const std::size_t> groups, GroupsResult& fits) {
  ByteReader in(bytes);
  for (const std::size_t k : groups) {
    std::ranges::copy(in.get_all<double>(), &fits.parameters(k, 0));
    std::ranges::copy(in.get_all<double>(), &fits.standard_errors(k, 0));
    std::ranges::copy(in.get_all<unsigned char>(), &fits.at_bound[k * fits.parameter_names.size()]);
    for (auto* values : {&fits.cost, &fits.rss, &fits.r_squared, &fits.decrement_sigma})
      (*values)[k] = in.get<double>();
    fits.dof[k] = in.get<std::ptrdiff_t>();
    fits.verdict[k] = in.get<Verdict>();
    fits.termination[k] = in.get<Termination>();
    fits.iterations[k] = in.get<int>();
    fits.message[k] = in.get_text();
    fits.warnings[k] = in.get_text();
  }
}

}  // namespace nlsq::inline v0
