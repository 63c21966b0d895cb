// Tests passes that a worker keeps from fit to fit: when they become machine code, and that their bits stay.
#include "kernels/kernel_table.hpp"
#include "machine_code/program_steps.hpp"
#include "rows/graph_rows.hpp"
#include "rows/residual_sources.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

using namespace nlsq;

TEST_CASE("a kept pass ends where its rows have repaid machine code, and the next one has the same bits") {
  constexpr std::size_t kRows = 1000;
  std::vector<double> x(kRows), y(kRows);
  for (std::size_t i = 0; i < kRows; ++i) {
    x[i] = 0.004 * static_cast<double>(i);
    y[i] = std::cos(static_cast<double>(i));
  }
  const auto data = std::make_shared<MemoryRows>(std::vector<Column>{x, y});
  const std::vector<double> p{2.5, 1.3, 0.5};
  const GraphRows model(std::make_shared<FormulaResidual>(parse_formula("a*exp(-b*x)+c"), false), data, p,
                        {0, 1, 2});
  KernelCounters counters;
  const auto bits = [&](TilePass& pass) {
    std::vector<double> all;
    for (std::size_t t = 0; t < model.tile_count(); ++t) {
      const TileRange tile = model.tile(t);
      const double* const* columns = pass.fill_f64(tile.first, tile.count, counters);
      for (int k : {0, 1, 3}) all.insert(all.end(), columns[k], columns[k] + tile.count);
    }
    return all;
  };
  const auto same = [](const std::vector<double>& a, const std::vector<double>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
  };
  auto pass = model.begin(p, Fill::jacobian_and_residual, false);
  const std::vector<double> first = bits(*pass);
  std::size_t rows = kRows;
  while (!repays_code(rows)) {
    REQUIRE(pass->restart(p));
    CHECK(same(bits(*pass), first));
    rows += kRows;
  }
  CHECK_FALSE(pass->restart(p));
  pass = model.begin(p, Fill::jacobian_and_residual, false);
  CHECK(same(bits(*pass), first));
  if (kernels().generated_f64 == nullptr) return;  // machine code is not available
  for (rows = 0; !repays_code(rows); rows += kRows) bits(*pass);
  CHECK(pass->restart(p));  // it has machine code
}
