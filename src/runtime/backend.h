// Who computes: the memory, the code and the queues of one device. A backend is a file of runtime/backends/, and
// launches the steps of a lowered graph (kernels/lower.h); nothing above looks at its memory but through it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "device/x86/compiler.h"
#include "ir/tensor.h"

namespace hone {

// What a backend made of a kernel's plan; it alone knows what that is.
using Code = const void*;

// What is asked of a queue is done in that order, each when the one before has ended, at the latest when synchronise()
// returns; the call itself may return before. Memory that is named stays as long as that takes, host memory unchanged.
// For one thread at a time.
class Queue {
 public:
  virtual ~Queue() = default;
  virtual void write(std::byte* to, std::span<const std::byte> from) = 0;     // from the host
  virtual void read(const std::byte* from, std::span<std::byte> to) = 0;      // to the host
  virtual void copy(std::byte* to, const std::byte* from, size_t bytes) = 0;  // on the device
  // All work items of `call`, with the addresses of the device in `args` and scratch memory for each thread.
  virtual void launch(Code code, const KernelArgs& args, const Launch& call, std::span<std::byte* const> scratch) = 0;
  virtual uint64_t record() = 0;          // an event: it has happened when all that was asked before is done
  virtual void wait(uint64_t event) = 0;  // the host, for an event of this queue
  // Until all is done. Throws what failed of it, once; after that the queue can be used again.
  virtual void synchronise() = 0;
};

class Backend : public Device {
 public:
  virtual bool is_host() const = 0;                 // its memory is the host's: addresses are pointers
  virtual Buffer allocate(size_t bytes) = 0;        // uninitialised. Throws MemoryError
  virtual std::unique_ptr<Queue> make_queue() = 0;  // the backend must outlive it
  // One for each plan, unless it interprets: then it is not asked. What was made stays as long as the backend.
  virtual std::vector<Code> compile(std::span<const KernelPlan> plans) = 0;
  virtual const CompileStatistics& statistics() const = 0;
  virtual std::string bundle() const = 0;  // of all code, for CompilerOptions::bundled

  Buffer copied(const Buffer& from);  // a buffer of the device with the bytes of one of the host
};

struct BackendDef {
  const char* name;  // as --backend takes it
  const char* doc;
  bool compiles;  // else it interprets steps as they are
  std::shared_ptr<Backend> (*make)(const CompilerOptions& options);
};

extern const BackendDef cpu_backend_def, reference_backend_def;

}  // namespace hone
