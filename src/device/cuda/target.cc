#include "device/cuda/target.h"

#include <algorithm>
#include <array>

#include "base/error.h"

namespace hone {
namespace {

// What code is generated for, and a full GPU of each: T4, A100, RTX 3090, L4, H100. Shared memory of a block as the
// programming guide's table of capabilities has it.
struct Architecture {
  int capability, ptx, ptx_of_matrices, multiprocessors;
  int64_t shared_bytes, l2_bytes;
};
constexpr int64_t kKb = 1 << 10, kMb = 1 << 20;
constexpr std::array<Architecture, 5> kArchitectures{{{75, 63, 65, 40, 64 * kKb, 4 * kMb},
                                                      {80, 70, 70, 108, 163 * kKb, 40 * kMb},
                                                      {86, 71, 71, 82, 99 * kKb, 6 * kMb},
                                                      {89, 78, 78, 58, 99 * kKb, 48 * kMb},
                                                      {90, 78, 78, 132, 227 * kKb, 50 * kMb}}};
constexpr int64_t kLeastSharedBytes = 48 * kKb;  // every block has them without asking

const Architecture& architecture(int capability) {
  if (capability < CudaTarget::kOldest)
    fail(
        "CUDA: compute capability {}.{}: code is generated for 7.5 (Turing, of 2018) and newer. Use a newer GPU, or "
        "--device cpu",
        capability / 10, capability % 10);
  const Architecture* newest = kArchitectures.data();
  for (const Architecture& each : kArchitectures)
    if (each.capability <= capability) newest = &each;
  return *newest;
}

}  // namespace

CudaTarget::CudaTarget(int capability)
    : CudaTarget(capability, architecture(capability).multiprocessors, architecture(capability).shared_bytes,
                 architecture(capability).l2_bytes) {}

CudaTarget::CudaTarget(int capability, int multiprocessors, int64_t shared_bytes, int64_t l2_bytes)
    : capability_(capability),
      multiprocessors_(std::max(multiprocessors, 1)),
      shared_bytes_(std::max(shared_bytes, kLeastSharedBytes)),
      l2_bytes_(std::max<int64_t>(l2_bytes, 0)) {
  architecture(capability);
}

int CudaTarget::sm() const { return architecture(capability_).capability; }

int CudaTarget::ptx_version(bool matrices) const {
  const Architecture& known = architecture(capability_);
  return matrices ? known.ptx_of_matrices : known.ptx;
}

std::string to_string(const CudaTarget& target) { return fmt::format("sm_{}", target.capability()); }

CudaTarget parse_cuda_target(std::string_view text) {
  for (const Architecture& each : kArchitectures)
    if (text == fmt::format("sm_{}", each.capability)) return CudaTarget(each.capability);
  fail("\"{}\" is no architecture that code is generated for; known: sm_75, sm_80, sm_86, sm_89, sm_90", text);
}

}  // namespace hone
