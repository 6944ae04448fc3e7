// Who turns numbers into planes and back: this class does it by the reference rules; device/x86/compiled_packer.h by
// machine code made from the same rules, in the same bits. It is handed down to whoever packs; the reference is the
// default.
#pragma once

#include <span>

#include "formats/packed.h"
#include "ir/tensor.h"

namespace hone {

class Packer {
 public:
  virtual ~Packer() = default;

  // As the functions of these names in formats/packed.h.
  virtual Planes pack(const Format& format, std::span<const int64_t> shape, std::span<const float> values,
                      EncodeCounts* counts = nullptr) const;
  virtual void unpack(const Format& format, std::span<const int64_t> shape, const PlaneView& planes,
                      std::span<float> values) const;
  virtual void fake_quantize(const Format& format, std::span<const int64_t> shape, std::span<const float> values,
                             std::span<float> out) const;

  // As the functions of these names in ir/tensor.h.
  Tensor pack(const Format& format, const Tensor& plain, EncodeCounts* counts = nullptr) const;
  Tensor unpack(const Tensor& tensor) const;
};

}  // namespace hone
