// The program that main() calls: takes arguments, returns the exit status.
#pragma once

namespace nlsq::cli {

int run(int argc, const char* const* argv);

}  // namespace nlsq::cli
