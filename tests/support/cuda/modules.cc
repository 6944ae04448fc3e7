// Modules from PTX, and from what stands for a cubin here: the PTX with the capability that it was made for and a sum
// of its bytes.
#include <algorithm>
#include <charconv>
#include <cstring>

#include "tests/support/cuda/driver.h"

namespace hone::emulated_cuda {
namespace {

constexpr std::string_view kMagic = "HONE-EMULATED-CUBIN";
struct CubinHeader {
  char magic[20];
  int capability;
  uint64_t bytes, sum;
};

uint64_t sum_of(std::string_view text) {  // FNV-1a
  uint64_t sum = 0xcbf29ce484222325;
  for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return sum;
}

std::string cubin_of(std::string_view text) {
  const Settings& s = driver().settings;
  CubinHeader header{.capability = 10 * s.major + s.minor, .bytes = text.size(), .sum = sum_of(text)};
  std::copy(kMagic.begin(), kMagic.end(), header.magic);
  std::string out(sizeof header, '\0');
  std::memcpy(out.data(), &header, sizeof header);
  return out.append(text);
}

// The newest PTX that a driver of this version reads, as 10 * major + minor: 11.0 has 7.0, 11.8 has 7.8, 12.4 has 8.4.
int newest_ptx(int version) {
  const int major = version / 1000, minor = version % 1000 / 10;
  return major < 10 ? 60 : major == 10 ? 63 + std::min(minor, 2) : 10 * (major - 4) + minor;
}

// "sm_80" runs on 8.0 and above, "sm_90a" on 9.0 alone.
bool runs_here(std::string_view target) {
  const int here = 10 * driver().settings.major + driver().settings.minor;
  if (!target.starts_with("sm_")) return false;
  int capability = 0;
  const auto [end, error] = std::from_chars(target.data() + 3, target.data() + target.size(), capability);
  const bool specific = end != target.data() + target.size();
  return error == std::errc() && (specific ? capability == here : capability <= here);
}

Logs logs_of(unsigned count, const int* options, void** values) {
  Logs logs;
  for (unsigned i = 0; i < count; ++i) {
    const int at = options[i] == kErrorLog || options[i] == kErrorLogBytes;
    if (options[i] == kInfoLog || options[i] == kErrorLog) logs.text[at] = static_cast<char*>(values[i]);
    if (options[i] == kInfoLogBytes || options[i] == kErrorLogBytes)
      logs.room[at] = static_cast<size_t>(reinterpret_cast<uintptr_t>(values[i]) & 0xffffffff);
  }
  return logs;
}

int64_t spilled(const ptx::Kernel& kernel) {
  const Settings& settings = driver().settings;
  const int64_t most = settings.aim_at && kernel.least_blocks == 0 ? settings.aim_at : settings.spill_above;
  return most == 0 ? 0 : std::max<int64_t>(0, kernel.general_registers - most) * 4;
}
int registers_of(const ptx::Kernel& kernel) { return std::min(kernel.general_registers, 255); }

std::shared_ptr<const ptx::Module> compiled(std::string_view text, const Logs& logs) {
  std::shared_ptr<ptx::Module> made;
  try {
    made = std::make_shared<ptx::Module>(ptx::parse(text));
  } catch (const Error& error) {
    logs.write(1, error.what());
    driver().fault = error.what();
    throw Failed{kInvalidPtx};
  }
  if (made->version > newest_ptx(driver().settings.driver)) {
    logs.write(1, fmt::format("PTX {}.{} is newer than this driver", made->version / 10, made->version % 10));
    throw Failed{kUnsupportedPtxVersion};
  }
  if (!runs_here(made->target)) throw Failed{kNoBinaryForGpu};
  std::string info;
  for (const ptx::Kernel& kernel : made->kernels)
    info += fmt::format(
        "ptxas info    : Compiling entry function '{}'\n"
        "    {} bytes stack frame, {} bytes spill stores, {} bytes spill loads\n"
        "ptxas info    : Used {} registers\n",
        kernel.name, kernel.local_bytes, spilled(kernel), spilled(kernel), registers_of(kernel));
  logs.write(0, info);
  return made;
}

std::shared_ptr<const ptx::Module> loaded(const void* image, const Logs& logs) {
  const char* at = static_cast<const char*>(image);
  if (std::strncmp(at, kMagic.data(), kMagic.size()) != 0) return compiled(at, logs);
  CubinHeader header;
  std::memcpy(&header, at, sizeof header);
  const int here = 10 * driver().settings.major + driver().settings.minor;
  if (header.bytes > (64u << 20)) throw Failed{kInvalidImage};
  const std::string_view text(at + sizeof header, header.bytes);
  if (sum_of(text) != header.sum) throw Failed{kInvalidImage};
  if (header.capability / 10 != here / 10 || header.capability > here) throw Failed{kNoBinaryForGpu};
  return compiled(text, logs);
}

}  // namespace

void Logs::write(int which, std::string_view message) const {
  if (text[which] == nullptr || room[which] == 0) return;
  const size_t n = std::min(message.size(), room[which] - 1);
  std::memcpy(text[which], message.data(), n);
  text[which][n] = '\0';
}

}  // namespace hone::emulated_cuda

using namespace hone::emulated_cuda;

extern "C" {
int cuModuleLoadDataEx(Module** out, const void* image, unsigned count, int* options, void** values) {
  return call([&] {
    driver().current();
    auto code = loaded(image, logs_of(count, options, values));
    *out = driver().make<Module>(Module{std::move(code), {}});
  });
}
int cuModuleLoadData(Module** out, const void* image) { return cuModuleLoadDataEx(out, image, 0, nullptr, nullptr); }
int cuModuleUnload(Module* module) {
  return call([&] {
    const auto last = driver().get(module);
    for (const auto& [name, function] : last->functions) driver().handles.erase(function.get());
    driver().handles.erase(module);
  });
}
int cuModuleGetFunction(Function** out, Module* from, const char* name) {
  return call([&] {
    driver().current();
    const auto module = driver().get(from);
    const hone::ptx::Kernel* kernel = module->code->find(name);
    if (kernel == nullptr) throw Failed{kNotFound};
    auto& function = module->functions[name];
    if (!function) {
      function = std::make_shared<Function>(Function{module->code, kernel});
      driver().handles[function.get()] = function;
    }
    *out = function.get();
  });
}
int cuFuncGetAttribute(int* value, int which, Function* of) {
  return call([&] {
    const auto function = driver().get(of);
    const hone::ptx::Kernel& kernel = *function->kernel;
    switch (which) {
      case kFunctionMaxThreads:
        return void(*value = static_cast<int>(kernel.max_threads));
      case kFunctionSharedBytes:
        return void(*value = static_cast<int>(kernel.shared_bytes));
      case kFunctionConstBytes:
        return void(*value = static_cast<int>(function->module->constants.size()));
      case kFunctionLocalBytes:
        return void(*value = static_cast<int>(kernel.local_bytes + spilled(kernel)));
      case kFunctionRegisters:
        return void(*value = registers_of(kernel));
      case kFunctionPtxVersion:
        return void(*value = function->module->version);
      case kFunctionBinaryVersion:
        return void(*value = 10 * driver().settings.major + driver().settings.minor);
      case kFunctionMaxDynamicShared:
        return void(*value = static_cast<int>(function->most_dynamic_shared));
      default:
        throw Failed{kInvalidValue};
    }
  });
}
int cuFuncSetAttribute(Function* of, int which, int value) {
  return call([&] {
    const auto function = driver().get(of);
    if (which != kFunctionMaxDynamicShared || value < 0) throw Failed{kInvalidValue};
    const int most = shared_limit(driver().settings) - static_cast<int>(function->kernel->shared_bytes);
    if (value > most) throw Failed{kInvalidValue};
    function->most_dynamic_shared = value;
  });
}

int cuLinkCreate_v2(unsigned count, int* options, void** values, Linked** out) {
  return call([&] {
    driver().current();
    *out = driver().make<Linked>(Linked{logs_of(count, options, values), {}, {}});
  });
}
int cuLinkAddData_v2(Linked* link, int type, void* data, size_t bytes, const char*, unsigned count, int* options,
                     void** values) {
  return call([&] {
    const auto to = driver().get(link);
    if (type != kInputPtx || !to->text.empty()) throw Failed{kInvalidValue};
    std::string_view text(static_cast<const char*>(data), bytes);
    text = text.substr(0, text.find('\0'));
    compiled(text, count > 0 ? logs_of(count, options, values) : to->logs);
    to->text = text;
  });
}
int cuLinkComplete(Linked* link, void** cubin, size_t* bytes) {
  return call([&] {
    const auto done = driver().get(link);
    if (done->text.empty()) throw Failed{kInvalidImage};
    done->cubin = cubin_of(done->text);
    *cubin = done->cubin.data();
    *bytes = done->cubin.size();
  });
}
int cuLinkDestroy(Linked* link) {
  return call([&] {
    driver().get(link);
    driver().handles.erase(link);
  });
}
}
