// What is in a model, without running it.
#pragma once

#include <hone/model.h>

namespace hone::HONE_API_INLINE api {
// Constants of one format or element type.
struct FormatShare {
  std::string format;  // "mxint8", "f32"
  int64_t tensors = 0, elements = 0, bytes = 0;
};

// What a model holds, and what a run costs.
struct ModelInfo {
  int64_t parameters = 0, weight_bytes = 0;  // of constants, literals left out
  std::vector<FormatShare> formats;          // most bytes first
  std::map<std::string, int64_t> ops;        // nodes by operation
  std::map<std::string, int64_t> sizes;      // what symbols stood for in what follows
  double flops = 0;                          // floating-point operations of one run
  std::map<std::string, double> flops_by_op;
};

// Sizes by symbol; what is not named is 1 for batches and what is usual for others. Throws Error for a name that is
// no symbol of the model.
HONE_API ModelInfo info(const Model& model, const std::map<std::string, int64_t>& sizes = {});

}  // namespace hone::HONE_API_INLINEapi
