// The layouts int-quantized and float-quantized of compressed-tensors: of a weight X.weight [N,K] the codes X.weight,
// i8 or f8e4m3 [N,K], and X.weight_scale, one for the tensor, for a row or for a group of a row.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "io/weight_layouts/compressed_tensors_scheme.h"
#include "io/weight_layouts/stored_codes.h"
#include "io/weight_layouts/weight_layout.h"

namespace hone {
namespace {

Tensor read(const StoredWeights& stored, const std::string& weight, const std::vector<int64_t>& shape) {
  const Tensor codes = stored.get(weight, ""), scales = stored.get(weight + "_scale", "");
  if ((codes.dtype() != DType::i8 && codes.dtype() != DType::f8e4m3fn) || codes.shape() != shape || shape.size() != 2)
    refuse_tensor(weight, codes,
                  fmt::format("i8 or f8e4m3fn [{}], since \"{}_scale\" is there", fmt::join(shape, ","), weight));
  if (stored.find(weight + "_zero_point"))
    fail("tensor \"{}_zero_point\": zero points of weights that are not packed are not supported", weight);
  const std::string option = stored_scale_option(scales, weight + "_scale");
  const std::string head = codes.dtype() == DType::i8 ? "int8" : "fp8_e4m3";
  if (scales.elements() == 1)
    return tensor_of(parse_format(head + ".tensor" + option), shape, integers_of(codes), integers_of(scales), {});
  const int64_t group = scale_group(stored, weight + "_scale", scales, shape);
  const std::string geometry = group == 0 ? ".channel" : fmt::format(".g{}", group);
  return tensor_of(parse_format(head + geometry + option), shape, integers_of(codes), integers_of(scales), {});
}

// The packed layouts have such scales, too.
bool recognises(const std::string& weight, const HasTensor& has) {
  return has(weight + "_scale") && !has(weight + "_packed");
}

}  // namespace

extern constinit const WeightLayoutDef naive_quantized_layout_def{.name = "int-quantized, float-quantized",
                                                                  .doc =
                                                                      "int8 and fp8 with scales, of "
                                                                      "compressed-tensors.",
                                                                  .method = kCompressedTensors,
                                                                  .check = check_compressed_tensors,
                                                                  .recognises = recognises,
                                                                  .read = read};

}  // namespace hone
