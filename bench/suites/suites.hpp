// Declares the suites of the bench. Each runs its cases and adds rows to the report; main.cpp lists and
// starts them.
#pragma once

#include "harness.hpp"

#include <cstddef>
#include <string>

namespace bench {

struct Suite {
  const char* name;
  const char* about;
  void (*run)(const Settings& settings);
  bool on_request = false;  // runs only if named: it takes minutes and measures no times
};

void run_curve(const Settings& settings);
void run_formula(const Settings& settings);
void run_nist(const Settings& settings);
void run_small(const Settings& settings);
void run_batch(const Settings& settings);
void run_read(const Settings& settings);
void run_cli(const Settings& settings);
void run_scaling(const Settings& settings);
void run_isa(const Settings& settings);
void run_dense(const Settings& settings);
void run_bal(const Settings& settings);
void run_pose(const Settings& settings);
void run_window(const Settings& settings);
void run_programs(const Settings& settings);
void run_blocks(const Settings& settings);
void run_forms(const Settings& settings);
void run_probe(const Settings& settings);
void run_adversarial(const Settings& settings);
void run_random(const Settings& settings);
void run_naive(const Settings& settings);
void run_mgh(const Settings& settings);

inline constexpr Suite kSuites[] = {
    {"curve", "seven models at 1e6 rows and exp at 1e7, one thread, against every peer and fused loops",
     run_curve},
    {"formula", "one model as a formula, a C++ callable and a built-in model: same bits, same time",
     run_formula},
    {"nist", "NIST's 54 certified regressions: digits and time", run_nist},
    {"small", "NIST's 54 by models prepared beforehand: total time", run_small},
    {"batch", "20,000 images of 15 x 15 pixels, a 2-D Gaussian each: fits a second", run_batch},
    {"read", "tables from files, beside the number parser alone", run_read},
    {"cli", "a file fitted by nlsq-fit, a SciPy script and gnuplot, process start included", run_cli},
    {"scaling", "exp at 1e4 to 1e8 rows, generated and in memory, one thread and all: time and memory",
     run_scaling},
    {"isa", "the curves under each instruction set's kernels: same answers, and the times", run_isa},
    {"dense", "Gram kernels at n = 64 to 1024, and fits of some 500 parameters beside all-f64 and Ceres",
     run_dense},
    {"bal", "bundle adjustment by nlsq::Problem to the cost that Ceres has after 50 iterations, two threads",
     run_bal},
    {"pose",
     "pose graphs in the plane and in space, up to 10,000 poses, through nlsq::Solve and through Ceres",
     run_pose},
    {"window",
     "ten poses and 200 points, solved again and again as blocks come and go: nlsq beside Ceres, one thread",
     run_window},
    {"programs",
     "small programs for Ceres, of 3 to 180 unknowns: nlsq::Solve beside ceres::Solve, one thread",
     run_programs},
    {"blocks", "random block problems by nlsq::solve and by Ceres: claims, minima, steps, time", run_blocks,
     true},
    {"forms", "one pass in each form of the Gram matrix, by the number of parameters", run_forms},
    {"probe", "what the probe and the condition number cost fits of 1e6 rows", run_probe},
    {"adversarial",
     "answers and counted work of every policy on the adversarial set and on benign large fits",
     run_adversarial, true},
    {"random", "answers of every policy on ten thousand problems drawn at random", run_random, true},
    {"mgh", "Moré, Garbow and Hillstrom's problems from near and far starts: minima found, beside Ceres",
     run_mgh},
    {"naive", "f32 and bf16 without a scheduler, beside ours: silent wrong answers", run_naive, true},
};

// Runs the worker process of suite isa. Prints the name of its kernels, then, for each line of standard
// input, fits and prints "wall-seconds cpu-seconds parameters..." (NaN if the fit is not certified).
void answer_with_fits(const std::string& model, std::size_t rows);

}  // namespace bench
