// hone formats and hone cast: number formats by themselves, without a model.
#pragma once

#include <optional>
#include <string>

#include "ir/tensor.h"
#include "report/record.h"

namespace hone {

// Every format of the registry's examples: bits per element, range, and the SQNR it reaches on 65,536 normal values,
// measured now.
Record list_formats(uint64_t seed = 1);

// A tensor through a format and back. Formats that change values only (compat=mase) have no codes, and of the counts
// only those of NaN and infinity.
struct CastResult {
  Tensor values;                 // f32, of the tensor's shape: what the codes decode to, where there are codes
  std::optional<Tensor> codes;   // u8, u16 or u32 by width, of the tensor's shape
  std::optional<Tensor> scales;  // the same, in storage order (docs/FORMATS.md, section 3.4): one per group, or level
  std::optional<Tensor> zero_points;   // one per group
  std::optional<Tensor> outer_scales;  // of two-level formats, fp16 patterns: one per super-block, or level
  std::optional<float> global_scale;   // nvfp4
  EncodeCounts counts;
  int64_t lost_nan = 0;  // NaN that came back as numbers: code 0, where the format has no NaN
};
CastResult cast_through(const std::string& format, const Tensor& tensor);

}  // namespace hone
