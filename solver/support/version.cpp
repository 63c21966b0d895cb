// Defines the version, and the build information that the command line prints.
#include "dense/dense_algebra.hpp"

#include <nlsq/version.hpp>
#include "kernels/kernel_table.hpp"

#include <fmt/format.h>

namespace nlsq::inline v0 {

const char* version() noexcept { return NLSQ_VERSION; }

std::string build_information() {
  std::string sets;
  for (const KernelTable* table : available_kernels()) {
    sets += fmt::format("{}{} ({} f64, {} f32 lanes)", sets.empty() ? "" : ", ", table->name,
                        table->lanes_f64, table->lanes_f32);
  }
  return fmt::format("nlsq {}\nkernels: {}; in use: {}\nlibraries: Eigen {}, fmt {}.{}.{}\n", version(), sets,
                     kernels().name, dense::eigen_version(), FMT_VERSION / 10000, FMT_VERSION / 100 % 100,
                     FMT_VERSION % 100);
}

}  // namespace nlsq::inline v0
