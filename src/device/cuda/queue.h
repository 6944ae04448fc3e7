// What is asked of a GPU, in a stream of its own.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "device/cuda/context.h"
#include "device/cuda/stream.h"
#include "device/queue.h"

namespace hone {

class CudaQueue : public Queue {
 public:
  explicit CudaQueue(std::shared_ptr<CudaContext> context)
      : context_(std::move(context)), stream_(context_->take_stream()) {}
  ~CudaQueue() override;

  void write(std::byte* to, std::span<const std::byte> from) override;
  void read(const std::byte* from, std::span<std::byte> to) override;
  void copy(std::byte* to, const std::byte* from, size_t bytes) override;
  void launch(Code code, const KernelArgs& args, const Launch& call, std::span<std::byte* const> scratch) override;
  // As a graph of kernels, each behind the one before. Arguments are changed in it in place.
  std::unique_ptr<Replay> prepare(std::span<const QueuedStep> steps) override;
  void run(Replay& replay, std::span<const size_t> changed) override;
  uint64_t record() override;
  void wait(uint64_t event) override;
  double elapsed_ns(uint64_t from, uint64_t to) override;
  void forget_events() override { stream_->forget_events(); }
  void synchronise() override;

 private:
  CudaCalls calls() const { return {*context_, stream_->generation(), &under_way_}; }

  const std::shared_ptr<CudaContext> context_;
  std::unique_ptr<CudaStream> stream_;
  CudaUnderWay under_way_;
};

}  // namespace hone
