// Pieces of a file that are read one here, one there, by any thread. They are copied, and pages of a mapped file go
// back to the system after some MB: a data set is not in memory because its rows were looked at.
#pragma once

#include <atomic>
#include <memory>

#include "data/file_bytes.h"
#include "ir/tensor.h"

namespace hone {

class FilePieces {
 public:
  explicit FilePieces(FileBytes file) : file_(std::move(file)), touched_(std::make_shared<std::atomic<size_t>>(0)) {}

  size_t size() const { return file_.bytes.size(); }
  std::byte at(size_t place) const;
  Buffer piece(size_t begin, size_t bytes) const;

 private:
  void note(size_t bytes) const;

  FileBytes file_;
  std::shared_ptr<std::atomic<size_t>> touched_;  // bytes since pages were given back
};

}  // namespace hone
