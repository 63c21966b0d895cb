// Step and weights of the two quadrature rules for the Faddeeva function; see faddeeva.cpp. The constants
// have internal linkage because the kernels use them too.
#pragma once

namespace nlsq::inline v0 {
namespace faddeeva {

constexpr int terms = 13;
constexpr double step = 0.49159024944872637124;  // sqrt(pi / terms)
constexpr double per_step = 2.0342144725641096, per_step_rest = 4.1701925151714986e-17;

// The weights are exp(-t²) at t = (k + 1/2) step and at t = (k + 1) step.
constexpr double midpoint_weight[terms] = {
    0.941373553317057002,   0.580574475844854969,    0.220825808860117339,     0.0518009430867251333,
    0.00749413390557072456, 0.000668653583783288,    0.0000367939869526237966, 1.24867227506659991e-6,
    2.61346105919987323e-8, 3.37349090418372992e-10, 2.68558559735349753e-12,  1.31854331233295093e-14,
    3.99250755931068485e-17};
constexpr double trapezoid_weight[terms - 1] = {
    0.785322377637275086,   0.380357418466890892,    0.113613975081529551,    0.0209299198147126326,
    0.00237793138828717265, 0.000166619957796378047, 7.20030123732586276e-6,  1.91897915850059498e-7,
    3.15417507333007576e-9, 3.19740226401498195e-11, 1.99896277433682648e-13, 7.70740322744014357e-16};

}  // namespace faddeeva
}  // namespace nlsq::inline v0
