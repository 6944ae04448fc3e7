// What code is generated for: a GPU's compute capability and what its blocks share. What it can do decides which code is
// possible; the rest only which of two possible ones is chosen. Code depends on all that a target has, so a slice of a
// GPU has code of its own where its numbers differ.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hone {

class CudaTarget {
 public:
  static constexpr int kOldest = 75;  // Turing: older GPUs have no mma of 16 bits that is emitted here

  // A GPU of this compute capability, 10 · major + minor, with the numbers of a full one of its kind. Throws Error
  // below kOldest.
  explicit CudaTarget(int capability);
  // One with numbers of its own. Each is held to what code can rely on: at least one multiprocessor, and the shared
  // memory that every GPU gives a block.
  CudaTarget(int capability, int multiprocessors, int64_t shared_bytes, int64_t l2_bytes);

  std::string_view device() const { return "cuda"; }
  int capability() const { return capability_; }
  // The newest architecture that code is generated for and that this GPU runs: 75, 80, 86, 89 or 90. Drivers compile it
  // for newer ones.
  int sm() const;
  int multiprocessors() const { return multiprocessors_; }
  int64_t shared_bytes() const { return shared_bytes_; }  // at most, of a block that asks for them
  int64_t l2_bytes() const { return l2_bytes_; }          // of the second-level cache; 0: unknown

  bool has_bf16() const { return capability_ >= 80; }        // products and arithmetic of bf16; TF32
  bool has_async_copy() const { return capability_ >= 80; }  // cp.async
  bool has_ldmatrix() const { return capability_ >= 75; }

  // The oldest PTX that has sm() and, where asked for, matrix instructions (ldmatrix, mma): 10 · major + minor. Drivers
  // read what is not newer than they are.
  int ptx_version(bool matrices) const;

  bool operator==(const CudaTarget&) const = default;

 private:
  int capability_, multiprocessors_;
  int64_t shared_bytes_, l2_bytes_;
};

// "sm_80": as `--device cuda:sm_80` takes it.
std::string to_string(const CudaTarget& target);
// A full GPU of that kind. Throws Error for other texts, and for what code is not generated for.
CudaTarget parse_cuda_target(std::string_view text);

}  // namespace hone
