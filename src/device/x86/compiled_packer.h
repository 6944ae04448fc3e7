// Packing and unpacking by generated code (QuantizePlan): the bits of the reference, at the speed of memory. What no
// kernel is made for goes to the reference; support() says why.
#pragma once

#include <memory>

#include "device/x86/compiler.h"
#include "ir/packer.h"

namespace hone {

class CompiledPacker : public Packer {
 public:
  // `options.threads` run the kernels, too.
  CompiledPacker(const X86Target& target, const CompilerOptions& options);
  ~CompiledPacker() override;

  using Packer::pack;
  using Packer::unpack;
  Planes pack(const Format& format, std::span<const int64_t> shape, std::span<const float> values,
              EncodeCounts* counts = nullptr) const override;
  void unpack(const Format& format, std::span<const int64_t> shape, const PlaneView& planes,
              std::span<float> values) const override;
  void fake_quantize(const Format& format, std::span<const int64_t> shape, std::span<const float> values,
                     std::span<float> out) const override;

  // Rounded to bf16 (bits), to nearest even.
  void unpack_bf16(const Format& format, std::span<const int64_t> shape, const PlaneView& planes,
                   std::span<uint16_t> values) const;

  static Support support(const Format& format, std::span<const int64_t> shape);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hone
