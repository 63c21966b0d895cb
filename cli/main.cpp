// This is the entry point of nlsq-fit. run() does the work.
#include "run.hpp"

int main(int argc, char** argv) { return nlsq::cli::run(argc, argv); }
