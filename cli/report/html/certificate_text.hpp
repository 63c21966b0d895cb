// Describes the certificate of a fit in sentences. html_report.cpp uses it.
#pragma once

#include "fit_command.hpp"

#include <string>
#include <vector>

namespace nlsq::cli {

// Returns the meaning of the verdict, for someone who sees it for the first time.
std::string verdict_sentence(Verdict verdict);

// Returns one sentence, or two, for each figure of the certificate.
std::vector<std::string> certificate_sentences(const FitReport& report);

}  // namespace nlsq::cli
