// Writes the summary of a solve to bytes and reads it back, for the processes of a team and for a journal.
#pragma once

#include "support/bytes.hpp"

#include <nlsq/summary.hpp>

namespace nlsq::inline v0 {

void put_summary(const Summary& summary, ByteWriter& out);
Summary take_summary(ByteReader& in);

}  // namespace nlsq::inline v0
