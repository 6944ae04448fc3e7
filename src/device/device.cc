#include "device/device.h"

#include <fmt/ranges.h>

#include "base/log.h"
#include "device/registry.h"

namespace hone {

Buffer Device::copied(const Buffer& from) {
  Buffer copy = allocate(from.size());
  if (from.size() == 0) return copy;
  const std::unique_ptr<Queue> queue = make_queue();
  queue->write(copy.address(), from.bytes());
  queue->synchronise();
  return copy;
}

const KernelImplementation& implementation_of(const Device& device, const KernelPlan& plan) {
  const KernelImplementation* const found = device.find(plan.kernel());
  CHECK(found != nullptr, "{} has no implementation of this class", device.name());
  return *found;
}

Buffer lay_out(const Device& device, const KernelPlan& plan, const Tensor& weights, int threads,
               const PanelMemory& memory) {
  prepacking(device, plan).lay_out(device, plan, weights, threads, memory.bytes.data());
  return Buffer(memory.owner, memory.bytes);
}

Buffer lay_out(const Device& device, const KernelPlan& plan, const Tensor& weights, int threads) {
  const int64_t bytes = prepacking(device, plan).bytes(device, plan);
  return lay_out(device, plan, weights, threads, panel_memory(static_cast<size_t>(bytes)));
}

std::string text_of(const Device& device) {
  const std::string choice = device.choice();
  return std::string(device.name()) + (choice.empty() ? "" : ":" + choice);
}

DeviceFacts device_facts() {
  DeviceFacts all;
  for (const DeviceDef* def : device::all()) {
    if (!def->facts) continue;
    const DeviceFacts facts = def->facts();
    all.insert(all.end(), facts.begin(), facts.end());
  }
  return all;
}

const DeviceDef* find_device(std::string_view name) {
  for (const DeviceDef* def : device::all())
    if (name == def->name) return def;
  return nullptr;
}

namespace {

std::shared_ptr<Device> sought_device() {
  for (const DeviceDef* def : device::all()) {
    if (!def->is_sought) continue;
    try {
      return def->open("");
    } catch (const Error& error) {  // it is not there, or not to be used
      log(LogLevel::note, error.what());
    }
  }
  return open_device("cpu");
}

}  // namespace

std::shared_ptr<Device> open_device(std::string_view text) {
  if (text == "auto") return sought_device();
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  if (const DeviceDef* def = find_device(name))
    return def->open(colon == text.npos ? std::string_view() : text.substr(colon + 1));
  std::vector<std::string_view> names;
  for (const DeviceDef* def : device::all()) names.push_back(def->name);
  fail("there is no device \"{}\"; known: auto, {}", name, fmt::join(names, ", "));
}

HostKernels host_kernels_for(const Device& device) {
  constexpr std::string_view kHost = "cpu";
  if (!device.compiles() || device.name() == kHost) return {};
  try {
    static const std::shared_ptr<Device> host = open_device(kHost);  // workspaces are known by their devices
    return {host, ""};
  } catch (const Error& error) {
    return {nullptr, error.what()};
  }
}

}  // namespace hone
