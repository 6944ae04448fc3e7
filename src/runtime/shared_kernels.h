// What the executables of a session share: code, and weights as kernels read them.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "device/device.h"
#include "ir/graph.h"
#include "kernels/lower.h"

namespace hone {

// By what a laid out weight is known: the layout depends on the plan but not on its hints, so kernels for different row
// counts share one copy; and on the shape that the kernel's node sees, since views of one weight have several.
std::string layout_key(const Device& device, const KernelPlan& plan, ValueId weight, std::span<const int64_t> shape);

struct SharedKernels;

// Constants laid out for kernels, by their ids: those of one graph. What has been laid out stays where it is; the rest
// is for one thread at a time.
class WeightStore {
 public:
  WeightStore(Device& device, int threads) : device_(device), threads_(threads) {}
  std::byte* get(const KernelPlan& plan, ValueId constant, const Tensor& weights);
  // What get() would lay out: its key and bytes; none where that has happened.
  struct Layout {
    std::string key;
    int64_t bytes = 0;
  };
  std::optional<Layout> missing(const KernelPlan& plan, ValueId constant, std::span<const int64_t> shape) const;
  int64_t bytes() const { return bytes_; }
  double milliseconds() const { return milliseconds_; }

 private:
  Device& device_;
  int threads_;
  PanelPool pool_;
  std::map<std::string, Buffer> buffers_;
  int64_t bytes_ = 0;
  double milliseconds_ = 0;
};

// Parameters laid out for kernels, as of the last version that a run has used. For any number of threads at once.
class ParameterStore {
 public:
  ParameterStore(Device& device, int threads) : device_(device), threads_(threads) {}
  // What is laid out stays as long as someone has the buffer; it is laid out again when `value` lies elsewhere than it
  // did: whoever writes to a parameter that is held here writes to a copy.
  Buffer get(const KernelPlan& plan, ValueId parameter, const Tensor& value);
  void clear();  // what no run has goes at once

 private:
  struct Laid {
    Tensor value;
    Buffer panels;
  };
  Device& device_;
  const int threads_;
  std::mutex mutex_;
  std::map<std::string, Laid> laid_;
};

// Constants of one executable alone: laid out for the device's kernels and for the host's, or as they are.
class OwnWeights {
 public:
  explicit OwnWeights(const SharedKernels& shared);
  WeightStore& of(const StepCall& step) { return step.on_host() ? *host_ : device_; }
  const WeightStore& of(const StepCall& step) const { return step.on_host() ? *host_ : device_; }
  std::byte* constant(SharedKernels& kernels, const Buffer& plane);  // where their device has it, on any byte
  int64_t bytes() const { return device_.bytes() + (host_ ? host_->bytes() : 0); }

 private:
  std::vector<Buffer> copied_;  // on devices with memory of their own
  WeightStore device_;
  std::optional<WeightStore> host_;  // none: its kernels run nothing
};

// The device, code for it, and constants in its memory, laid out for kernels or as they are. Values below `values` have
// the ids of the session's graph; constants above belong to one executable alone.
struct SharedKernels {
  // `host`: of kernels for steps that the device has none for; null: none.
  SharedKernels(std::shared_ptr<Device> of, const CompilerOptions& options, ValueId session_values,
                std::shared_ptr<Device> host = nullptr);
  // Of another graph, with the same code.
  SharedKernels(const SharedKernels& other, ValueId graph_values);

  SharedKernels& of(const StepCall& step) { return step.on_host() ? *on_host : *this; }
  const SharedKernels& of(const StepCall& step) const { return step.on_host() ? *on_host : *this; }
  double compile_milliseconds() const;  // these three with the host's
  double prepack_milliseconds() const;
  int64_t prepacked_bytes() const;
  std::byte* constant(const Buffer& plane);  // where the device has it, on any byte
  bool has(const Buffer& plane) const { return copied_.contains(plane.address()); }  // a copy, made by constant()

  const std::shared_ptr<Device> device;
  const uint64_t generation;  // of the device's memory: what is here is void in a later one, whenever it was made
  const std::shared_ptr<Compiler> compiler;
  const std::unique_ptr<SharedKernels> on_host;  // of the steps that the host's kernels run; null: there are none
  WeightStore weights;
  ParameterStore parameters;
  const int threads;
  const ValueId values;
  // Of plans that last, found without looking at their text.
  struct Lasting {
    KernelPlan plan;  // keeps the identity
    Code code = nullptr;
    std::array<std::byte*, 16> weights{};  // laid out, by position
  };
  std::unordered_map<const void*, Lasting> lasting;  // by identity

 private:
  struct Copied {
    Buffer host, device;
  };
  std::map<const std::byte*, Copied> copied_;  // by the host's address, which stays while it is held here
};

}  // namespace hone
