// Tests nlsq-fit --maps as a user runs it. Its maps are compared with fits of single pixels and of groups.
#include "cli/images/image_support.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <sstream>

using namespace image_support;
using namespace program;
using zip_support::npy;

TEST_CASE("Maps have the answers of single fits") {
  const Scratch files;
  const Cube cube;
  const std::string fit = files.write("cube.npy", cube.file()) + " --x " + files.write("t.npy", npy(cube.x));
  const auto found = maps(files, fit + " --model exp");
  REQUIRE(found.size() == 8);
  CHECK(found.at("a").shape == std::vector<std::size_t>{kRows, kColumns});
  for (const double status : found.at("status").values) CHECK(status == 1);
  for (std::size_t n = 0; n < 20; ++n) {
    const std::size_t i = n % kRows, j = 7 * n % kColumns, pixel = i * kColumns + j;
    const auto alone = fit_json(files.write("one.csv", cube.pixel_csv(i, j)) + " --model exp");
    for (const char* name : {"a", "b", "c"}) {
      CAPTURE(n);
      CAPTURE(name);
      const auto one = parameter(alone, name);
      const double error = one["std_error"];
      // The fits have different starts, but both are certified to be so close to the minimum.
      CHECK(std::fabs(found.at(name).values[pixel] - double(one["value"])) <= 1e-6 * error);
      CHECK(found.at(std::string(name) + "_std_error").values[pixel] == doctest::Approx(error).epsilon(1e-6));
    }
    CHECK(found.at("cost").values[pixel] == doctest::Approx(double(alone["rss"]) / 2).epsilon(1e-12));
  }
}

TEST_CASE("Maps have the same bits for any threads, axis, byte layout and dimension") {
  const Scratch files;
  const Cube cube;
  const std::string times = files.write("t.npy", npy(cube.x)), model = " --model exp --x " + times;
  const auto wanted = maps(files, files.write("cube.npy", cube.file()) + model);
  CHECK(same(maps(files, files.path("cube.npy") + model + " --threads 1"), wanted));
  CHECK(same(maps(files, files.path("cube.npy") + model + " --threads 3 --axis -1"), wanted));
  CHECK(same(
      maps(files, files.write("first.npy", npy(cube.arranged(kPoints, kRows, kColumns,
                                                             [](std::size_t a, std::size_t b, std::size_t c) {
                                                               return Cube::index(b, c, a);
                                                             }),
                                               "(30, 20, 24)")) +
                      model),
      wanted));
  CHECK(same(maps(files, files.write("fortran.npy",
                                     in_fortran_order(
                                         npy(cube.arranged(kPoints, kColumns, kRows,
                                                           [](std::size_t a, std::size_t b, std::size_t c) {
                                                             return Cube::index(c, b, a);
                                                           }),
                                             "(20, 24, 30)"))) +
                             model),
             wanted));
  CHECK(same(maps(files, "- " + model + " < " + files.path("cube.npy")), wanted));
  // Pixels in two dimensions must give the same as pixels in one row, which are divided into other blocks.
  const auto row = maps(files, files.write("row.npy", npy(cube.values, "(480, 30)")) + model);
  CHECK(row.at("a").shape == std::vector<std::size_t>{kRows * kColumns});
  for (std::size_t p = 0; p < row.at("a").values.size(); ++p)
    CHECK(row.at("a").values[p] == doctest::Approx(wanted.at("a").values[p]).epsilon(1e-7));
}

TEST_CASE("x may be a range, the columns of a table, or the number of the point") {
  const Scratch files;
  Cube cube;
  const std::string file = files.write("cube.npy", cube.file());
  const auto numbered = maps(files, file + " --model exp");
  const auto range = maps(files, file + " --model exp --x 1:30:30");
  for (std::size_t p = 0; p < kRows * kColumns; ++p)
    CHECK(range.at("b").values[p] == doctest::Approx(numbered.at("b").values[p]).epsilon(1e-9));
  std::string table = "t,u\n";
  for (std::size_t k = 0; k < kPoints; ++k) table += fmt::format("{},{}\n", k + 1, k % 3);
  const auto two = maps(files, file + " --model 'a*exp(-b*t) + c + 0*u' --p0 a=3,b=0.1,c=0 --x " +
                                   files.write("two.csv", table));
  for (std::size_t p = 0; p < kRows * kColumns; ++p)
    CHECK(two.at("b").values[p] == doctest::Approx(numbered.at("b").values[p]).epsilon(1e-7));
}

TEST_CASE("Sigma is a number, a value of each point, or an array of the image's shape") {
  const Scratch files;
  const Cube cube;
  const std::string fit = files.write("cube.npy", cube.file()) + " --model exp --absolute-sigma --x " +
                          files.write("t.npy", npy(cube.x)) + " --sigma ";
  const auto number = maps(files, fit + "0.03");
  CHECK(same(maps(files, fit + files.write("s1.npy", npy(std::vector<double>(kPoints, 0.03)))), number));
  std::vector<double> sigmas(cube.values.size(), 0.03);
  CHECK(same(maps(files, fit + files.write("s3.npy", npy(sigmas, "(20, 24, 30)"))), number));
  sigmas[Cube::index(4, 5, 6)] = 0;
  const auto bad = maps(files, fit + files.write("s3.npy", npy(sigmas, "(20, 24, 30)")), 1);
  CHECK(bad.at("status").values[4 * kColumns + 5] == 6);
}

TEST_CASE("Pixels outside the mask and pixels that are not numbers have no answer") {
  const Scratch files;
  Cube cube;
  cube.values[Cube::index(2, 3, 7)] = std::nan("");
  cube.values[Cube::index(9, 9, 0)] = std::nan("");
  cube.values[Cube::index(12, 12, 4)] = INFINITY;  // this pixel would be chosen as a neighbour
  const std::string fit =
      files.write("cube.npy", cube.file()) + " --model exp --x " + files.write("t.npy", npy(cube.x));
  std::string mask = npy({}, "(20, 24)", "|b1");
  for (std::size_t p = 0; p < kRows * kColumns; ++p) mask += p % kColumns < 4 ? '\0' : '\1';
  const auto found = maps(files, fit + " --mask " + files.write("mask.npy", mask), 1);
  for (std::size_t p = 0; p < kRows * kColumns; ++p) {
    const bool masked = p % kColumns < 4, bad = p == 9 * kColumns + 9 || p == 12 * kColumns + 12;
    CHECK(found.at("status").values[p] == (masked ? 0 : bad ? 6 : 1));
    for (const char* name : {"a", "a_std_error", "cost"})
      CHECK(std::isnan(found.at(name).values[p]) == (masked || bad));
  }
  const Outcome report = run(fit + " --mask " + files.path("mask.npy") + " --maps " + files.path("m.npz"));
  CAPTURE(report.out);
  CHECK(report.status == 1);
  CHECK(contains(report.out, "20 × 24 pixels, 400 fitted, of which 398 succeeded"));
  CHECK(contains(report.out, "1 pixel, the first at [9, 9]: "));
  CHECK(contains(report.out, "point 0"));
  CHECK(contains(report.out, "point 4"));
}

// On a slope, the curve of a pixel whose peak lies elsewhere explains nearly all of the scatter. A fit from
// there ends beside the peak at about twice the cost.
TEST_CASE("A narrow region with its peak elsewhere is not fitted with the peak of the pixels around it") {
  const Scratch files;
  std::mt19937 random(5);
  std::normal_distribution<double> noise(0, 0.1);
  std::vector<double> values;
  const auto in_vein = [](std::size_t pixel) { return pixel % 24 >= 6 && pixel % 24 < 9; };
  for (std::size_t p = 0; p < 24 * 24; ++p) {
    const double at = in_vein(p) ? 7 : 3;
    for (int k = 0; k < 100; ++k) {
      const double x = k / 9.9, u = (x - at) / 0.25;
      values.push_back(5 + x + 0.5 * std::exp(-u * u / 2) + noise(random));
    }
  }
  const auto found = maps(
      files, files.write("vein.npy", npy(values, "(24, 24, 100)")) + " --model gaussian+linear --x 0:10:100");
  int wrong = 0;
  for (std::size_t p = 0; p < 24 * 24; ++p)
    wrong += std::fabs(found.at("g1_mu").values[p] - (in_vein(p) ? 7 : 3)) > 0.5;
  CHECK(wrong == 0);
}

// Here are two peaks of one height. From the place of the other peak, a fit ends in a worse minimum, which is
// certified.
TEST_CASE("A neighbour's answer does not lead to a worse minimum than the pixel's own guess") {
  const Scratch files;
  std::mt19937 random(5);
  std::normal_distribution<double> noise(0, 0.02);
  std::uniform_real_distribution<double> place(2, 18);
  std::vector<double> values;
  for (std::size_t p = 0; p < 256; ++p) {
    const double at = place(random), height = p % 5 == 0 ? -1.0 : 2.0;
    for (int k = 0; k < 60; ++k) {
      const double u = (k / 3.0 - at) / 0.7;
      values.push_back(height * std::exp(-u * u / 2) + 0.3 + noise(random));
    }
  }
  const std::string file = files.write("cube.npy", npy(values, "(16, 16, 60)"));
  const auto found = maps(files, file + " --x 0:19.66666666666666666:60 --model 'gaussian + constant'");
  for (std::size_t p = 0; p < 256; ++p) CHECK(found.at("cost").values[p] < 60 * 0.02 * 0.02);
}

TEST_CASE("A pixel without an own start is fitted from its neighbours' answers") {
  // From a = b = 1 these decays succeed only where the rate is small.
  const Scratch files;
  const Cube cube;
  const std::string fit = files.write("cube.npy", cube.file()) + " --x " + files.write("t.npy", npy(cube.x)) +
                          " --bounds b=0:5 --model ";
  const auto found = maps(files, fit + "'a*exp(-b*x) + c'");
  for (const double status : found.at("status").values) CHECK(status == 1);
}

TEST_CASE("Held parameters, ties, losses and several starts apply to every pixel") {
  const Scratch files;
  const Cube cube;
  const std::string fit =
      files.write("cube.npy", cube.file()) + " --x " + files.write("t.npy", npy(cube.x)) + " --model exp ";
  const auto fixed = maps(files, fit + "--fix c=0.5");
  const auto tied = maps(files, fit + "--tie c=a/8+b*0 --loss huber --f-scale 0.05");
  const auto several = maps(files, fit + "--starts 2");
  for (std::size_t p = 0; p < kRows * kColumns; ++p) {
    CHECK(fixed.at("c").values[p] == 0.5);
    CHECK(fixed.at("c_std_error").values[p] == 0);
    CHECK(tied.at("c").values[p] == doctest::Approx(tied.at("a").values[p] / 8));
    CHECK(several.at("status").values[p] == 1);
  }
  // A parameter fixed at its guess is fixed at the guess of each pixel, not at that of a neighbour.
  const auto held = maps(files, fit + "--fix c");
  const auto alone = fit_json(files.write("one.csv", cube.pixel_csv(1, 2)) + " --model exp --fix c");
  CHECK(held.at("c").values[kColumns + 2] ==
        doctest::Approx(double(parameter(alone, "c")["value"])).epsilon(1e-12));
}

// With pure noise, many guesses lead nowhere, and some lead to numbers that overflow.
TEST_CASE("An image succeeds wherever its pixels do as groups, at no higher cost, and in more places") {
  const Scratch files;
  std::mt19937 random(7);
  std::normal_distribution<double> noise(0, 1);
  std::vector<double> x, values;
  for (int k = 0; k < 50; ++k) x.push_back(k / 10.0);
  std::string table = "t,v,pixel\n";
  for (std::size_t p = 0; p < 256; ++p) {
    for (const double t : x) {
      values.push_back(noise(random));
      table += fmt::format("{},{},{}\n", t, values.back(), p);
    }
  }
  const Outcome groups =
      run(files.write("table.csv", table) + " --model exp --group-by pixel --quiet --csv -");
  std::vector<double> costs;
  std::vector<std::string> verdicts;
  std::istringstream lines(groups.out);
  std::string line;
  for (std::getline(lines, line); std::getline(lines, line);) {
    const std::size_t last = line.rfind(','), before = line.rfind(',', line.rfind(',', last - 1) - 1);
    costs.push_back(std::strtod(line.c_str() + before + 1, nullptr));
    verdicts.push_back(line.substr(last + 1));
  }
  REQUIRE(costs.size() == 256);
  const auto found = maps(files,
                          files.write("noise.npy", npy(values, "(16, 16, 50)")) + " --model exp --x " +
                              files.write("x.npy", npy(x)),
                          1);
  int more = 0, after_failure = 0;
  for (std::size_t p = 0; p < 256; ++p) {
    CAPTURE(p);
    const bool alone = verdicts[p] == "CONVERGED" || verdicts[p] == "NOISE_FLOOR";
    const bool here = found.at("status").values[p] <= 3;
    if (alone) {
      CHECK(here);
      CHECK(found.at("cost").values[p] <= costs[p] * (1 + 1e-9));
    } else if (here) {
      ++more;
      after_failure += verdicts[p] == "FAILED";
    }
  }
  CHECK(more > 0);
  CHECK(after_failure > 0);
}

// A peak that is fitted to a cubic moves away and becomes wider and wider.
TEST_CASE("A pixel without a minimum ends after 200 iterations, or after as many as are asked for") {
  const Scratch files;
  std::vector<double> values;
  for (int pixel = 0; pixel < 4; ++pixel) {
    for (int k = 0; k < 40; ++k) {
      const double x = k / 4.0, ripple = 0.01 * std::sin(997.0 * k + pixel);
      values.push_back(ripple + (pixel == 0 ? 3 * std::exp(-(x - 4) * (x - 4)) : std::pow(x / 2 - 2.5, 3)));
    }
  }
  const std::string fit =
      files.write("lines.npy", npy(values, "(4, 40)")) + " --model gaussian --x 0:9.75:40 --maps ";
  const Outcome usual = run(fit + files.path("maps.npz"));
  CHECK(usual.status == 1);
  CHECK(usual.out.find("of which 1 succeeded") != std::string::npos);
  CHECK(usual.out.find("The iteration limit of a pixel is 200: --max-iterations") != std::string::npos);
  const Outcome few = run(fit + files.path("few.npz") + " --max-iterations 60");
  CHECK(few.out.find("The iteration limit of a pixel is 60: --max-iterations") != std::string::npos);
}

TEST_CASE("Maps, report and JSON say in which pixels a parameter ends on a bound") {
  const Scratch files;
  const Cube cube;  // a lies between 2 and 4, b between 0.6 and 1.06
  const std::string fit = files.write("cube.npy", cube.file()) + " --model exp --x " +
                          files.write("t.npy", npy(cube.x)) + " --bounds a=2.5:3.5,b=0:";
  const auto found = maps(files, fit);
  REQUIRE(found.size() == 10);
  CHECK(!found.contains("c_at_bound"));
  const std::vector<double>& on_bound = found.at("a_at_bound").values;
  std::size_t pixels = 0;
  for (std::size_t p = 0; p < on_bound.size(); ++p) {
    const double a = found.at("a").values[p];
    CHECK((on_bound[p] != 0) == (a == 2.5 || a == 3.5));
    CHECK((on_bound[p] != 0) == std::isnan(found.at("a_std_error").values[p]));
    CHECK(found.at("b_at_bound").values[p] == 0);
    pixels += on_bound[p] != 0;
  }
  CHECK(pixels > 100);
  CHECK(pixels < 400);
  for (std::size_t n = 0; n < 12; ++n) {
    const std::size_t i = n % kRows, j = 7 * n % kColumns;
    const auto alone =
        fit_json(files.write("one.csv", cube.pixel_csv(i, j)) + " --model exp --bounds a=2.5:3.5");
    CHECK(parameter(alone, "a")["at_bound"] == (on_bound[i * kColumns + j] != 0));
  }
  const std::string to = " --maps " + files.path("maps.npz");
  const Outcome told = run(fit + to);
  CHECK(contains(told.out, "pixels on a bound"));
  CHECK(contains(told.out, "no bounds"));  // for c
  CHECK(contains(told.out, fmt::format(" {}\n", pixels)));
  const auto summary = nlohmann::json::parse(run(fit + " --json -" + to).out);
  CHECK(summary["parameters"][0]["at_bound"] == pixels);
  CHECK(summary["parameters"][1]["at_bound"] == 0);
  CHECK(!summary["parameters"][2].contains("at_bound"));
  CHECK(maps(files, files.path("cube.npy") + " --model exp").size() == 8);
}

TEST_CASE("--json sums the image up") {
  const Scratch files;
  Cube cube;
  cube.values[Cube::index(2, 3, 4)] = std::nan("");
  const std::string image = files.write("cube.npy", cube.file()), times = files.write("t.npy", npy(cube.x));
  std::vector<double> inside(480, 1);
  inside[0] = 0;
  const std::string mask = files.write("mask.npy", npy(inside, "(20, 24)"));
  const std::string fit = image + " --model exp --x " + times + " --mask " + mask + " --json - --maps ";
  const Outcome outcome = run(fit + files.path("maps.npz"));
  CHECK(outcome.status == 1);
  const auto summary = nlohmann::json::parse(outcome.out);  // so nothing else is written
  CHECK(summary["shape"] == nlohmann::json({20, 24}));
  CHECK(summary["axis"] == 2);
  CHECK(summary["points"] == 30);
  CHECK(summary["pixels"] == 480);
  CHECK(summary["fitted"] == 479);
  CHECK(summary["succeeded"] == 478);
  CHECK(summary["failed"] == 1);
  CHECK(summary["statuses"].dump() ==
        R"([{"in_map":0,"pixels":1,"status":"masked"},{"in_map":1,"pixels":478,"status":"CONVERGED"},)"
        R"({"in_map":6,"pixels":1,"status":"FAILED"}])");
  REQUIRE(summary["reasons"].size() == 1);
  CHECK(summary["reasons"][0]["first"] == nlohmann::json({2, 3}));
  CHECK(contains(summary["reasons"][0]["message"], "point 4"));
  const Map b = maps_of(files.read("maps.npz")).at("b");
  double lowest = 1e9;
  for (const double value : b.values) lowest = std::fmin(lowest, value);  // fmin ignores NaN
  CHECK(summary["parameters"][1]["name"] == "b");
  CHECK(summary["parameters"][1]["lowest"] == lowest);
  CHECK(summary["files"].size() == 3);
  CHECK(contains(summary["files"][0]["checksum"], "crc32:"));
  const Outcome again = run(fit + files.path("maps.npz"), "NLSQ_ISA=baseline");
  CHECK(nlohmann::json::parse(again.out)["files"] == summary["files"]);
}

TEST_CASE("Starts of a formula are looked for in a pixel where ones lead nowhere") {
  const Scratch files;
  std::vector<double> values;
  std::mt19937 random(9);
  std::normal_distribution<double> noise(0, 0.1);
  for (int p = 0; p < 200; ++p) {
    const double a = 2.5 + 0.005 * p, phase = 0.003 * p;
    for (int k = 1; k <= 60; ++k) values.push_back(a * std::sin(0.66 * k + phase) + 5 + noise(random));
  }
  const std::string waves = files.write("waves.npy", npy(values, "(10, 20, 60)"));
  const auto found = maps(files, waves + " --model 'a*sin(w*x+p)+c'");
  for (std::size_t p = 0; p < 200; ++p) {
    CAPTURE(p);
    CHECK(found.at("status").values[p] == 1);
    CHECK(std::fabs(std::fabs(found.at("w").values[p]) - 0.66) < 0.01);
  }
}
