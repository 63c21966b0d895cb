// What the certificate of a fit says, in sentences. html_report.cpp uses it.
#pragma once

#include "fit_command.hpp"

#include <string>
#include <vector>

namespace nlsq::cli {

// What the verdict means, for someone who sees it for the first time.
std::string verdict_sentence(Verdict verdict);

// One sentence, or two, for each figure of the certificate.
std::vector<std::string> certificate_sentences(const FitReport& report);

}  // namespace nlsq::cli
