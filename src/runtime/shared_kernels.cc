#include "runtime/shared_kernels.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "base/clock.h"

namespace hone {

std::string layout_key(const Device& device, const KernelPlan& plan, ValueId weight, std::span<const int64_t> shape) {
  return fmt::format("{} [{}] {}", weight, fmt::join(shape, ","), prepacking(device, plan).key(device, plan));
}

std::optional<WeightStore::Layout> WeightStore::missing(const KernelPlan& plan, ValueId constant,
                                                        std::span<const int64_t> shape) const {
  std::string key = layout_key(device_, plan, constant, shape);
  if (buffers_.contains(key)) return std::nullopt;
  return Layout{std::move(key), prepacking(device_, plan).bytes(device_, plan)};
}

std::byte* WeightStore::get(const KernelPlan& plan, ValueId constant, const Tensor& weights) {
  const std::string key = layout_key(device_, plan, constant, weights.shape());
  auto found = buffers_.find(key);
  if (found == buffers_.end()) {
    const auto start = std::chrono::steady_clock::now();
    const PanelMemory memory = pool_.take(static_cast<size_t>(prepacking(device_, plan).bytes(device_, plan)));
    Buffer laid_out = lay_out(device_, plan, weights, threads_, memory);
    found = buffers_.emplace(key, device_.is_host() ? std::move(laid_out) : device_.copied(laid_out)).first;
    bytes_ += static_cast<int64_t>(found->second.size());
    milliseconds_ += milliseconds_since(start);
  }
  return found->second.address();
}

Buffer ParameterStore::get(const KernelPlan& plan, ValueId parameter, const Tensor& value) {
  const std::string key = layout_key(device_, plan, parameter, value.shape());
  const std::lock_guard lock(mutex_);
  Laid& laid = laid_[key];
  const auto lies_there = [&](const Buffer* a, const Buffer* b) { return a->address() == b->address(); };
  if (laid.panels.size() == 0 || !std::ranges::equal(laid.value.buffers(), value.buffers(), lies_there)) {
    laid = {};  // goes first
    Buffer panels = lay_out(device_, plan, value.on_host(), threads_);
    laid = {value, device_.is_host() ? std::move(panels) : device_.copied(panels)};
  }
  return laid.panels;
}

void ParameterStore::clear() {
  const std::lock_guard lock(mutex_);
  laid_.clear();
}

OwnWeights::OwnWeights(const SharedKernels& shared) : device_(*shared.device, shared.threads) {
  if (shared.on_host) host_.emplace(*shared.on_host->device, shared.threads);
}

namespace {

// What the host makes is no part of the device's bundle.
std::unique_ptr<SharedKernels> kernels_on(std::shared_ptr<Device> host, CompilerOptions options, ValueId values) {
  options.keep_objects = false;
  return host ? std::make_unique<SharedKernels>(std::move(host), options, values) : nullptr;
}

}  // namespace

SharedKernels::SharedKernels(std::shared_ptr<Device> of, const CompilerOptions& options, ValueId session_values,
                             std::shared_ptr<Device> host)
    : device(std::move(of)),
      generation(device->generation()),  // first, so that what is made while it changes counts as lost
      compiler(device->make_compiler(options)),
      on_host(kernels_on(std::move(host), options, session_values)),
      weights(*device, options.threads),
      parameters(*device, options.threads),
      threads(options.threads),
      values(session_values) {}

SharedKernels::SharedKernels(const SharedKernels& other, ValueId graph_values)
    : device(other.device),
      generation(other.generation),
      compiler(other.compiler),
      on_host(other.on_host ? std::make_unique<SharedKernels>(*other.on_host, graph_values) : nullptr),
      weights(*device, other.threads),
      parameters(*device, other.threads),
      threads(other.threads),
      values(graph_values) {}

double SharedKernels::compile_milliseconds() const {
  return compiler->statistics().milliseconds + (on_host ? on_host->compile_milliseconds() : 0);
}
double SharedKernels::prepack_milliseconds() const {
  return weights.milliseconds() + (on_host ? on_host->prepack_milliseconds() : 0);
}
int64_t SharedKernels::prepacked_bytes() const { return weights.bytes() + (on_host ? on_host->prepacked_bytes() : 0); }

std::byte* OwnWeights::constant(SharedKernels& kernels, const Buffer& plane) {
  if (kernels.device->is_host() || plane.size() == 0) return plane.unaligned_address();
  return copied_.emplace_back(kernels.device->copied(plane)).address();
}

std::byte* SharedKernels::constant(const Buffer& plane) {
  if (device->is_host() || plane.size() == 0) return plane.unaligned_address();
  auto found = copied_.find(plane.address());
  if (found == copied_.end()) found = copied_.emplace(plane.address(), Copied{plane, device->copied(plane)}).first;
  return found->second.device.address();
}

}  // namespace hone
