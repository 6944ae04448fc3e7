// A weight in a mapped file, as models have them.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "base/atomic_file.h"
#include "base/mapped_file.h"
#include "ir/tensor.h"

namespace hone::test {

// The same values, `shift` bytes behind the start of a file: on a byte that suits its elements or not.
class MappedWeight {
 public:
  explicit MappedWeight(const Tensor& values, size_t shift = 0) {
    const std::string path = (std::filesystem::temp_directory_path() /
                              fmt::format("hone_mapped_weight_{:x}", reinterpret_cast<uintptr_t>(this)))
                                 .string();
    const std::span<const std::byte> bytes = values.data().bytes();
    write_file(path, std::string(shift, '\0') + std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    file_ = std::make_shared<MappedFile>(path);
    std::filesystem::remove(path);
    tensor_ = Tensor(values.dtype(), values.shape(),
                     Buffer::of_source({.owner = file_,
                                        .bytes = file_->bytes().subspan(shift),
                                        .columns = values.elements(),
                                        .element_bytes = size_bytes(values.dtype()),
                                        .mapped = true}));
  }
  const Tensor& tensor() const { return tensor_; }
  const std::byte* begin() const { return file_->bytes().data(); }

 private:
  std::shared_ptr<MappedFile> file_;
  Tensor tensor_;
};

}  // namespace hone::test
