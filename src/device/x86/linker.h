// Object files of kernels, linked into this process.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "device/llvm/object_library.h"

namespace hone {

// Owns the memory of what it has loaded.
class Linker : public ObjectLoader {
 public:
  Linker();
  ~Linker() override;
  void add(std::span<const std::byte> object, const std::string& name) override;
  Code find(const std::string& symbol) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hone
