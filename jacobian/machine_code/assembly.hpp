// Machine code for AVX2 or AVX-512 from straight-line code over vectors.
#pragma once

#include "machine_code/encoder.hpp"
#include "machine_code/vector_code.hpp"

#include <cstdint>
#include <vector>

namespace nlsq::inline v0 {

// Returns the code of a function that may stand at any multiple of 64 bytes, its constants included:
//
//   size_t function(T* const* vectors, const T* uniforms, size_t begin, size_t end)
//
// It runs `code` for each vector of the set from byte `begin` to byte `end` of the vectors of the tile, two
// multiples of a vector's bytes, and returns `end` or a little more. It returns less, the place it has
// reached, where a lane does not meet a requirement. Vectors of rows have room up to the next multiple of two
// vectors, and their last ones may be computed; with `lanes`, nothing beyond `end` is touched.
// With `lanes`, a uniform is a vector: uniform u of lane l is uniforms[u * lanes + l]. `f64` is the format T
// of the program. The calling convention is that of System V.
//
// Returns nothing where the code would be so long that the interpreter is faster.
std::vector<std::uint8_t> assembled(const VectorCode& code, const VectorSet& set, bool f64, bool lanes);

}  // namespace nlsq::inline v0
