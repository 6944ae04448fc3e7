// NumPy's .npy files (format versions 1 to 3) and .npz archives of them.
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/safetensors.h"
#include "ir/tensor.h"

namespace hone {

// Reads booleans, integers and floats of either byte order, in C or Fortran order (converted to C order). Throws Error
// naming the file and what was found for everything else: object arrays hold pickles, structured and text arrays have
// no tensor type.
Tensor read_npy(const std::string& path);
Tensor parse_npy(std::string_view bytes, const std::string& source);

// Version 1, C order, atomically. Throws Error for bf16 (NumPy has no such type), strings and packed tensors.
void write_npy(const std::string& path, const Tensor& tensor);
std::string npy_bytes(const Tensor& tensor, const std::string& what);  // `what` starts errors

// The arrays of an archive in its order, without the ending .npy in their names. Stored and deflated members; checks
// sizes and checksums, and refuses archives that expand like a zip bomb.
std::vector<NamedTensor> read_npz(const std::string& path);
void write_npz(const std::string& path, std::span<const NamedTensor> tensors);  // stored members, atomically

}  // namespace hone
