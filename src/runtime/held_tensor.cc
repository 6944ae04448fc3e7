#include "runtime/held_tensor.h"

#include <utility>

#include "base/error.h"
#include "device/device.h"

namespace hone {
namespace {

const Device* device_of(const Tensor& value) {
  for (const Buffer* plane : value.buffers())
    if (const auto* device = dynamic_cast<const Device*>(plane->memory())) return device;
  return nullptr;
}

}  // namespace

HeldTensor::HeldTensor(Tensor value, std::optional<uint64_t> generation)
    : value_(std::move(value)), device_(device_of(value_)) {
  if (device_) generation_ = generation ? *generation : device_->generation();
}

std::string HeldTensor::why_lost() const {
  if (is_written_over_) return "a run that failed had begun to write over it";
  if (device_ && device_->generation() != generation_)
    return fmt::format("device {} lost its memory, where it was", device_->name());
  return "";
}

void HeldTensor::take_back(std::map<std::string, Tensor>& inputs, const std::string& name) noexcept {
  const auto found = inputs.find(name);
  if (found != inputs.end()) value_ = std::move(found->second);
  else is_written_over_ = true, device_ = nullptr;
}

void LostValues::look_at(const std::string& name, const HeldTensor& held) {
  if (const std::string why = held.why_lost(); !why.empty())
    text_ += fmt::format("{}\"{}\" ({})", text_.empty() ? "" : ", ", name, why);
}

void LostValues::refuse(std::string_view these, std::string_view remedy) const {
  if (!text_.empty()) fail("{} lost: {}. {}", these, text_, remedy);
}

}  // namespace hone
