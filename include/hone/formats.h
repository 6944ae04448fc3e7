// Number formats: what the elements of packed tensors are stored in (docs/FORMATS.md).
#pragma once

#include <hone/tensor.h>

namespace hone::HONE_API_INLINE api {
// A family of formats.
struct FormatFamily {
  std::string name;                   // "mxint<W>"
  std::string doc;                    // what it is, and where it comes from
  std::vector<std::string> examples;  // "mxint8", "mxint4"
};

// All families, in the order of their names.
HONE_API std::vector<FormatFamily> list_formats();

// A format by its text.
struct FormatInfo {
  std::string text;           // canonical: "int4.g128"
  std::string family;         // "int<W>"
  double bits = 0;            // an element at large sizes, with its share of scales
  bool is_plain = false;      // an element type: packing gives a plain tensor
  bool changes_only = false;  // it rounds values and has no codes: pack() refuses it
};

// Throws FormatError, with the place at fault, for a text that is no format.
HONE_API FormatInfo parse_format(const std::string& text);

// Every format of patterns such as "int{4..8}.f4,mxint4", each once. Throws Error for braces that do not match.
HONE_API std::vector<std::string> expand_formats(const std::vector<std::string>& patterns);

// What packing could not represent, in elements.
struct EncodeCounts {
  int64_t nan = 0, inf = 0;     // of the values themselves
  int64_t saturated = 0;        // half a step or more beyond the largest code
  int64_t flushed_to_zero = 0;  // not zero before, zero after
};

// The tensor, f32[...], f16, bf16 or f64, in the format: of the same shape. Uses all processors; the result does not
// depend on their number. Throws FormatError where the format does not fit the shape.
HONE_API Tensor pack(const Tensor& tensor, const std::string& format, EncodeCounts* counts = nullptr);

// A packed tensor's values, f32 of its shape; a plain one's as f32.
HONE_API Tensor unpack(const Tensor& tensor);

// unpack(pack(tensor)), but NaN stays NaN: f32 of the same shape. Also of formats that only round.
HONE_API Tensor round_to(const Tensor& tensor, const std::string& format);

// The planes of a packed tensor as bytes, u8[n], in storage order; they share the tensor's memory. Empty where the
// format has none. Throws Error for a plain tensor.
struct PackedPlanes {
  Tensor codes{DType::u8, {0}}, scales{DType::u8, {0}}, zero_points{DType::u8, {0}}, global{DType::u8, {0}};
};
HONE_API PackedPlanes planes(const Tensor& packed);

// A packed tensor of planes: bytes, u8[n], that are shared where they lie in order. Throws Error where a plane has
// another size than the format and shape ask for.
HONE_API Tensor packed_of_planes(const std::string& format, std::vector<int64_t> shape, const PackedPlanes& planes);

}  // namespace hone::HONE_API_INLINEapi
