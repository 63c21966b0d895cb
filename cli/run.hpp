// Declares the program that main() calls. It takes arguments and returns the exit status.
#pragma once

namespace nlsq::cli {

int run(int argc, const char* const* argv);

}  // namespace nlsq::cli
