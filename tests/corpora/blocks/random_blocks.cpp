// Lists the families of random block problems, and draws one problem.
#include "random_blocks.hpp"

#include <fmt/format.h>

#include <iterator>

namespace blocks {

Case random_case(std::uint64_t seed) {
  struct Family {
    const char* name;
    Scene (*make)(Draw&);
    Kind kind;
  };
  static const Family families[] = {{"positioning", positioning, Kind::healthy},
                                    {"kinetics", kinetics, Kind::healthy},
                                    {"doses", doses, Kind::healthy},
                                    {"ellipse", ellipse, Kind::healthy},
                                    {"hand and eye", hand_eye, Kind::healthy},
                                    {"to planes", to_planes, Kind::healthy},
                                    {"factors", [](Draw& d) { return factors(d, false); }, Kind::deficient},
                                    {"ridge", [](Draw& d) { return factors(d, true); }, Kind::healthy},
                                    {"peaks", peaks, Kind::healthy},
                                    {"bearings", bearings, Kind::healthy},
                                    {"growth", growth, Kind::healthy},
                                    {"two views", two_views, Kind::healthy},
                                    {"inverse depths", inverse_depths, Kind::healthy},
                                    {"network", network, Kind::singular},
                                    {"quotient", quotient, Kind::healthy},
                                    {"tide", tide, Kind::healthy}};
  static_assert(std::size(families) == kFamilies);
  const Family& family = families[seed % kFamilies];
  const Draw d(seed);
  return {family.name,
          fmt::format("{} unit {:g} sigma {:g} away {:g} offset {:g} {} {:g} outliers {:g}", seed, d.unit,
                      d.sigma, d.away, d.offset, name(d.loss.kind), d.loss.a, d.outliers),
          [=] {
            Draw draw(seed);
            return family.make(draw);
          },
          family.kind};
}

}  // namespace blocks
