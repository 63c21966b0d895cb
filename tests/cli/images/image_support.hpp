// Makes an image of decays, and reads the maps that nlsq-fit writes, for the tests of images.
#pragma once

#include "cli/program.hpp"
#include "cli/zip_support.hpp"
#include "table/npy/npy_header.hpp"
#include "table/npy/zip_archive.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <random>

namespace image_support {

struct Map {
  std::vector<std::size_t> shape;
  std::vector<double> values;
};

// Returns the arrays of a .npz file, read with the table reader's parts. Entries of one byte become doubles,
// too.
inline std::map<std::string, Map> maps_of(const std::string& archive) {
  std::map<std::string, Map> out;
  for (const nlsq::cli::ZipMember& member : nlsq::cli::zip_members(archive)) {
    const auto source = nlsq::cli::open_member(archive, member);
    std::size_t start = 0;
    const nlsq::cli::NpyHeader header = nlsq::cli::read_npy_header(*source, start);
    std::string bytes(header.bytes(), '\0');
    REQUIRE(nlsq::cli::read_fully(*source, bytes.data(), bytes.size()) == bytes.size());
    CHECK(start % 64 == 0);
    Map& map = out[member.name.substr(0, member.name.size() - 4)];
    map.shape = header.shape;
    for (std::size_t i = 0; i < bytes.size() / header.item; ++i) {
      double value = static_cast<unsigned char>(bytes[i]);
      if (header.item == 8) std::memcpy(&value, &bytes[8 * i], 8);
      map.values.push_back(value);
    }
  }
  return out;
}

constexpr std::size_t kRows = 20, kColumns = 24, kPoints = 30;

// Decays whose parameters vary over the image. Number [i][j][k] is at index(i, j, k).
struct Cube {
  std::vector<double> x, values;

  Cube() {
    std::mt19937 random(3);
    std::normal_distribution<double> noise(0, 0.03);
    for (std::size_t k = 0; k < kPoints; ++k) x.push_back(0.1 + 0.2 * static_cast<double>(k));
    for (std::size_t i = 0; i < kRows; ++i) {
      for (std::size_t j = 0; j < kColumns; ++j) {
        const double a = 3 + std::sin(static_cast<double>(i) / 5), b = 0.6 + 0.02 * static_cast<double>(j);
        for (const double t : x) values.push_back(a * std::exp(-b * t) + 0.5 + noise(random));
      }
    }
  }
  static std::size_t index(std::size_t i, std::size_t j, std::size_t k) {
    return (i * kColumns + j) * kPoints + k;
  }
  std::string file() const { return zip_support::npy(values, "(20, 24, 30)"); }
  // Returns the numbers in another layout. at(a, b, c) is the number with these indices in the new array.
  template <class At>
  std::vector<double> arranged(std::size_t n0, std::size_t n1, std::size_t n2, At at) const {
    std::vector<double> out;
    for (std::size_t a = 0; a < n0; ++a)
      for (std::size_t b = 0; b < n1; ++b)
        for (std::size_t c = 0; c < n2; ++c) out.push_back(values[at(a, b, c)]);
    return out;
  }
  std::string pixel_csv(std::size_t i, std::size_t j) const {
    std::string text = "t,v\n";
    for (std::size_t k = 0; k < kPoints; ++k) text += fmt::format("{},{}\n", x[k], values[index(i, j, k)]);
    return text;
  }
};

// Returns the maps of a command. `status` is the status that it must return.
inline std::map<std::string, Map> maps(const program::Scratch& files, const std::string& arguments,
                                       int status = 0) {
  const program::Outcome outcome = program::run(arguments + " --quiet --maps " + files.path("maps.npz"));
  CAPTURE(outcome.out);
  CHECK(outcome.status == status);
  return maps_of(files.read("maps.npz"));
}

inline bool same(const Map& a, const Map& b) {
  return a.shape == b.shape &&
         std::memcmp(a.values.data(), b.values.data(), a.values.size() * sizeof(double)) == 0;
}

inline bool same(const std::map<std::string, Map>& a, const std::map<std::string, Map>& b) {
  bool all = a.size() == b.size() && !a.empty();
  for (const auto& [name, map] : a) all = all && b.contains(name) && same(map, b.at(name));
  return all;
}

// Replaces the word for the layout. Both words have the same length.
inline std::string in_fortran_order(std::string file) {
  return file.replace(file.find("'fortran_order': False"), 22, "'fortran_order': True ");
}

}  // namespace image_support
