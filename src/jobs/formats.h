// hone formats and hone cast: number formats by themselves, without a model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "formats/format.h"
#include "formats/packed.h"
#include "ir/tensor.h"
#include "measure/quality.h"

namespace hone {

// Of the elements that codes stand for, before their scale.
struct ElementRange {
  double largest = 0, smallest = 0;  // magnitudes; the smallest is above 0
};

struct ListedFormat {
  Format format;
  std::string family;
  std::optional<ElementRange> range;  // none where codes have no value of their own
  double sqnr_db = 0;                 // on normal values, measured now; infinite where they come back exactly
};

struct FormatList {
  std::vector<ListedFormat> formats;
  std::vector<int64_t> shape;  // of the tensor that SQNR is measured on
  uint64_t seed = 1;           // of its values
};

// Every format of the registry's examples.
FormatList list_formats(uint64_t seed = 1);

// A tensor through a format and back. Formats that change values only (compat=mase) have no codes, and of the counts
// only those of NaN and infinity.
struct CastResult {
  Format format;
  Tensor values;                     // f32, of the tensor's shape: what the codes decode to, where there are codes
  std::optional<Tensor> codes = {};  // u8, u16 or u32 by width, of the tensor's shape
  std::optional<Tensor> scales =
      {};  // the same, in storage order (docs/FORMATS.md, section 3.4): one per group, or level
  std::optional<Tensor> zero_points = {};   // one per group
  std::optional<Tensor> outer_scales = {};  // of two-level formats, fp16 patterns: one per super-block, or level
  std::optional<float> global_scale = {};   // nvfp4
  EncodeCounts counts = {};
  Quality quality = {};  // of the values against the tensor's
  int64_t lost_nan = 0;  // NaN that came back as numbers: code 0, where the format has no NaN
};
CastResult cast_through(const std::string& format, const Tensor& tensor);

}  // namespace hone
