// Owns a precompiled header: see nlsq_precompiled in NlsqTargets.cmake.
int main() {}
