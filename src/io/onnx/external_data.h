// The files beside a model that hold the bytes of its tensors ("external data"). A model from elsewhere must not read
// other files through them: only regular files below the model's folder are opened, one component of the path after the
// other, and no link of either kind is followed.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "io/onnx/onnx.pb.h"
#include "ir/tensor.h"

namespace hone::onnx {

class ExternalData {
 public:
  explicit ExternalData(const std::string& model_path);

  // The `bytes` bytes that proto.external_data points at. They share the file's mapping when aligned, and are a copy
  // otherwise; with alignment 0 the caller is going to convert them, which counts as a copy. All copies of a file are
  // together at most as large as the file, so that a small model can't fill the memory by pointing at the same bytes
  // often. Throws Error with `source` in front.
  Buffer read(const TensorProto& proto, size_t bytes, size_t alignment, const std::string& source);

  std::vector<std::string> files() const;  // paths of those read so far

 private:
  struct File {
    std::shared_ptr<const MappedFile> mapped;
    size_t copied = 0;  // bytes
  };
  File& open(const std::string& location, const std::string& source);

  std::string folder_;
  std::map<std::string, File> files_;  // by location
};

}  // namespace hone::onnx
