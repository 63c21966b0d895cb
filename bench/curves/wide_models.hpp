// Declares curves with many parameters, as callables for nlsq and with derivatives by hand for a peer.
// suite_dense.cpp uses them.
#pragma once

#include <nlsq/callable.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace bench {

struct WideModel {
  std::string name;
  std::size_t rows = 0;
  std::vector<std::vector<double>> x;  // by predictor
  std::vector<double> y, start;
  nlsq::ModelFunction callable;
  // The data hardly determine the parameters, so the suite compares the time to reach one cost.
  bool flat = false;
  // Computes the residual f - y of a row, and its derivatives if J is not null.
  std::function<void(const double* x, double y, const double* p, double* r, double* J)> by_hand;

  std::size_t parameters() const { return start.size(); }
  // Computes the residuals of all rows. J is rows x parameters, stored by rows, or null.
  void residuals(const double* p, double* r, double* J) const;
};

// Returns a straight line plus `centres` radial basis functions a exp(-((x - c) / w)²) on [0, 1]. Widths are
// 0.3 of the spacing; centres and widths are free. It has 3 centres + 2 parameters.
WideModel radial_basis(std::size_t rows, int centres);

// Returns a network of two inputs, two layers of `width` tanh units and a linear output. It has width (width
// + 5) + 1 parameters.
WideModel neural_network(std::size_t rows, int width);

}  // namespace bench
