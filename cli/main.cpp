#include "run.hpp"

int main(int argc, char** argv) { return nlsq::cli::run(argc, argv); }
