// The program behind main(): arguments in, exit status out.
#pragma once

namespace nlsq::cli {

int run(int argc, const char* const* argv);

}  // namespace nlsq::cli
