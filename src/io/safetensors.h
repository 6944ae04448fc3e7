// safetensors: a JSON header (name → dtype, shape, byte range) and one buffer of raw little-endian tensors.
// https://github.com/huggingface/safetensors, format README. Reading maps the file; a tensor's bytes are touched when
// used.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mapped_file.h"
#include "ir/named_tensor.h"

namespace hone {

struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0;  // bytes, relative to the buffer behind the header
};

class SafetensorsFile {
 public:
  // Checks the whole header: every byte of the buffer belongs to exactly one tensor whose size follows from dtype and
  // shape. Throws Error naming the file, the tensor and what was found; also for a dtype that hone has no type for
  // (F8_E8M0, F4, ...).
  explicit SafetensorsFile(const std::string& path);

  const std::string& path() const { return file_->path(); }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  std::span<const SafetensorsEntry> entries() const { return entries_; }  // by offset
  const SafetensorsEntry* find(std::string_view name) const;              // nullptr when absent

  // Shares the mapping (copied where the bytes are not aligned for their type). Throws Error with the nearest names
  // when absent.
  Tensor tensor(std::string_view name) const;

 private:
  std::shared_ptr<const MappedFile> file_;
  std::map<std::string, std::string> metadata_;
  std::vector<SafetensorsEntry> entries_;
  std::unordered_map<std::string_view, size_t> index_;  // views of the entries' names
  size_t buffer_ = 0;                                   // where the buffer starts in the file
};

// Writes atomically (base/atomic_file.h), tensors by descending alignment, then name, as the reference writer does.
// The bytes depend only on the arguments. Throws Error for duplicate or reserved names and names that are not UTF-8.
void write_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace hone
