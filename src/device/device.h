// Who computes: the memory, the queues and the code of one device, and what it can do. The one type that layers above
// carry: they name no device and ask none for its registers or units. A device is a folder of src/device/
// (docs/adding.md, "A device").
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/peaks.h"
#include "device/compiler.h"
#include "device/device_lost.h"
#include "device/implementation.h"
#include "device/queue.h"
#include "ir/memory.h"
#include "ir/packer.h"
#include "passes/pipeline.h"

namespace hone {

// A unit that multiplies, for people.
struct UnitRate {
  std::string name, types;               // of the instruction; "bf16 × bf16 + f32"
  int64_t products = 1;                  // of one instruction
  double rate = 1;                       // products in the time of one by f32 multiply-add, as kernels are chosen by
  double MachinePeaks::*peak = nullptr;  // that shows whether that is so
};
struct UnitRates {
  std::string source;  // where the rates are from: "zen4"
  std::vector<UnitRate> units;
};

// For any number of threads at once; sessions share one.
class Device : public Memory {
 public:
  // What its code is made for, for people and for names of files. Empty where there are no variants.
  virtual std::string variant() const { return ""; }
  // What --device takes behind the colon, for what it is now: not the variant where there are several of one kind.
  virtual std::string choice() const { return variant(); }
  virtual std::string abilities() const { return ""; }  // of instructions and units, for reports

  virtual bool is_host() const = 0;           // its memory is the host's: addresses are pointers
  virtual Buffer allocate(size_t bytes) = 0;  // uninitialised. Throws MemoryError
  // Of memory of its own, now; none where that is the host's, which base/memory_limit.h holds.
  virtual std::optional<int64_t> free_bytes() const { return std::nullopt; }
  virtual std::unique_ptr<Queue> make_queue() = 0;  // the device must outlive it
  // How often its memory was lost. Buffers, code and queues belong to the generation that they were made in. Once it is
  // over, nobody may do more with them than drop them: calls of such queues, and read() of such buffers, throw
  // DeviceLost. What is made from then on works. The number rises before the first DeviceLost of a loss is thrown.
  virtual uint64_t generation() const { return 0; }
  // How many areas of Launch::scratch_bytes a launch takes when the run has so many threads.
  virtual int scratch_areas(int threads) const { return threads; }

  virtual bool compiles() const { return true; }                                // false: it interprets all steps
  virtual const KernelImplementation* find(const KernelDef& kernel) const = 0;  // null: it has none for the class
  virtual std::unique_ptr<Compiler> make_compiler(const CompilerOptions& options) = 0;
  // What code of the plan depends on, as text: on this device, plans of equal keys have equal code.
  virtual std::string code_key(const KernelPlan& plan) const { return plan.text(); }

  // Predicted memory that compiling so many kernels on so many threads takes, and keeps.
  virtual int64_t compile_bytes(int, int64_t) const { return 0; }

  // Quantizes with machine code, to the bits of the rules of formats; null: the rules do.
  virtual std::shared_ptr<const Packer> make_packer(const CompilerOptions&) { return nullptr; }

  // The passes that graphs go through before fusion.
  virtual const Pipeline& pipeline() const { return kChannelsLast; }

  // What its units and its memory reach, measured now, in seconds; none: it computes with the CPU's.
  virtual std::optional<MachinePeaks> measure_peaks() { return std::nullopt; }
  virtual UnitRates units() const { return {}; }
  virtual std::vector<std::string> notes() const { return {}; }  // what keeps it from being faster, in sentences
  // Why it has no bf16, for whoever asks for products in it by name; empty: it has.
  virtual std::string why_no_bf16() const { return ""; }
  // Why graphs with gradients are not computed on it, in a sentence; empty: they are.
  virtual std::string why_no_training() const { return ""; }

  Buffer copied(const Buffer& from);  // a buffer of the device with the bytes of one of the host
};

using DeviceFacts = std::vector<std::pair<std::string, std::string>>;

struct DeviceDef {
  const char* name;  // as --device takes it
  const char* doc;
  const char* variants;      // what may stand behind a colon, for people; empty: nothing
  const char* example = "";  // one of them
  // What this machine has for it, whether it can be opened or not: titles and texts of rows of reports. Null: nothing.
  DeviceFacts (*facts)() = nullptr;
  bool is_sought = false;  // "auto" takes it before the CPU, where it is there
  // What keeps a core of the host busy, where the device computes on those. Null: it does not.
  ArithmeticLoop (*busy_loop)() = nullptr;
  // Throws Error when it is not there, saying what was looked for, and for variants that are unknown or not there.
  std::shared_ptr<Device> (*open)(std::string_view variant);
};

std::string text_of(const Device& device);  // as open_device() takes it

const DeviceDef* find_device(std::string_view name);  // null: the program has none of that name

// "cpu", "cpu:host"; "auto" is the first of those that are sought and there, else the CPU. Throws Error, which lists
// the devices of the program, for another name.
std::shared_ptr<Device> open_device(std::string_view text);

DeviceFacts device_facts();  // of all devices of the program

// Whose kernels run, on copies in the host's memory, what a device has none for.
struct HostKernels {
  std::shared_ptr<Device> device;  // null: nobody's, and it is interpreted
  std::string why_none;            // where the CPU was asked and has none
};
// The CPU's. Nobody's for the CPU itself and for devices that interpret all steps.
HostKernels host_kernels_for(const Device& device);

// The one that was asked for, else the CPU with all that it has.
inline std::shared_ptr<Device> device_or_cpu(const std::shared_ptr<Device>& asked) {
  return asked ? asked : open_device("cpu");
}

}  // namespace hone
