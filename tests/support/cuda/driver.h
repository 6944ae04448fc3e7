// The emulated driver's state. One mutex holds everything but what streams are doing: kernels run without it, over
// memory that stays as long as they do.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "device/cuda/abi.h"
#include "tests/support/cuda/settings.h"
#include "tests/support/ptx/machine.h"

namespace hone::emulated_cuda {

using namespace hone::cuda;

struct Failed {  // ends a call
  Result code;
  std::string text = "";
};

// Bytes of a device, at an address that no pointer of this process has.
struct Block {
  Block(DevicePointer at, size_t bytes);
  DevicePointer address;
  std::vector<std::byte> data;
  std::span<std::byte> bytes;  // of data, aligned to 256
};

struct Device {
  int index = 0;
  std::map<DevicePointer, std::shared_ptr<Block>> memory;
  DevicePointer next = 0;
  int64_t used = 0;
  int retained = 0;
  Result sticky = kSuccess;  // what made its context unusable
  bool lost = false;
};

struct Function {
  std::shared_ptr<const ptx::Module> module;
  const ptx::Kernel* kernel = nullptr;
  int64_t most_dynamic_shared = 48 << 10;
};
struct Module {
  std::shared_ptr<const ptx::Module> code;
  std::map<std::string, std::shared_ptr<Function>, std::less<>> functions;
};
struct Logs {  // what the caller asked for
  char* text[2] = {};
  size_t room[2] = {};
  void write(int which, std::string_view message) const;
};
struct Linked {
  Logs logs;
  std::string text, cubin;
};

struct Event;

// Does what it is asked, one after the other, on a thread of its own.
class Stream {
 public:
  explicit Stream(Device& device);
  ~Stream();  // when all is done
  Device& device() { return device_; }
  void push(std::function<void()> task);
  void synchronise();
  bool idle();

 private:
  void run();
  Device& device_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool busy_ = false, ends_ = false;
  std::thread thread_;
};

struct Event {
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t asked = 0, happened = 0;  // records
  double milliseconds = 0;           // of the last that happened
};

struct KernelCall {
  std::shared_ptr<const ptx::Module> module;
  const ptx::Kernel* kernel = nullptr;
  ptx::Launch launch;
  std::vector<std::byte> params;
};
struct Graph {
  std::vector<std::unique_ptr<KernelCall>> nodes;  // an order that keeps all dependencies
};
struct GraphExec {
  std::vector<std::pair<const KernelCall*, KernelCall>> nodes;  // by the graph's node
};

class Driver {
 public:
  std::mutex mutex;
  bool begun = false, initialised = false;
  Settings settings;
  std::array<Device, 8> devices;
  std::map<void*, std::shared_ptr<void>> handles;  // that are alive
  std::set<Stream*> streams;                       // of these
  std::map<const std::byte*, std::unique_ptr<std::vector<std::byte>>> pinned;
  std::map<std::string, int64_t, std::less<>> counts;
  std::map<std::string, std::pair<std::shared_ptr<const ptx::Module>, ptx::Counts>, std::less<>> kernel_counts;
  std::string fault;

  void begin(const Settings& with);
  // Behind the mutex.
  Device& device(int index);
  Device& current();  // of this thread's context, which must be usable
  void set_current(Device* device);
  Device* current_or_none();
  std::shared_ptr<Block> find(Device& device, DevicePointer address, size_t bytes) const;  // throws kInvalidValue
  template <class T, class... Args>
  T* make(Args&&... args) {
    auto made = std::make_shared<T>(std::forward<Args>(args)...);
    handles[made.get()] = made;
    return made.get();
  }
  template <class T>
  std::shared_ptr<T> get(T* handle) {
    const auto found = handles.find(handle);
    if (found == handles.end()) throw Failed{kInvalidHandle};
    return std::static_pointer_cast<T>(found->second);
  }
  // Without it: a kernel on a stream's thread.
  void run_kernel(Device& device, const KernelCall& call);
  void note_fault(const char* what);  // of a kernel. Behind the mutex
};
Driver& driver();

// A held driver lets no stream go on.
class Gate {
 public:
  void hold(bool held);
  void pass();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
};
Gate& gate();

// Runs the body of an entry point: behind the driver's mutex, with failures as results.
int call(const std::function<void()>& body);
int call_unlocked(const std::function<void()>& body);

int shared_limit(const Settings& settings);  // bytes of a block's shared memory, when a kernel asks for them
KernelCall make_call(Function* function, const unsigned* grid, const unsigned* block, unsigned shared, void** params,
                     void** extra);
void count_launch(Device& device);  // throws what the settings say of this one

}  // namespace hone::emulated_cuda
