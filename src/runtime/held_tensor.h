// A value that stays from run to run, and whether it is still there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "ir/tensor.h"

namespace hone {

class Device;

// A device may lose its memory, and a run that fails late may have written over what lay there: then nobody has the
// value any more.
class HeldTensor {
 public:
  HeldTensor() = default;
  // `generation`: of the device's memory when the value was made (Device::generation()); none: it was made now.
  explicit HeldTensor(Tensor value, std::optional<uint64_t> generation = std::nullopt);

  const Tensor& value() const { return value_; }  // empty while it is lent
  std::string why_lost() const;                   // empty: it is there, or lent

  void lend() noexcept { value_ = Tensor(); }  // to a run that has a handle of its own
  // As it was, from `inputs` of that run; when it is not there, the run has written over it.
  void take_back(std::map<std::string, Tensor>& inputs, const std::string& name) noexcept;

 private:
  Tensor value_;
  const Device* device_ = nullptr;  // where it lies, which lives as long as that; null: in the host's memory
  uint64_t generation_ = 0;
  bool is_written_over_ = false;
};

// Those of some held values that are lost.
class LostValues {
 public:
  void look_at(const std::string& name, const HeldTensor& held);
  // Throws Error when there are some: it says that `these` are lost, which and why, and the `remedy`.
  void refuse(std::string_view these, std::string_view remedy) const;

 private:
  std::string text_;
};

}  // namespace hone
