#include "device/cuda/module.h"

namespace hone {

using namespace cuda;

namespace {

// A kernel may ask for all of a block's shared memory at its launches; what it declares itself counts.
void allow_shared_memory(const CudaCalls& calls, const CudaContext& context, Handle function, const std::string& name) {
  int declared = 0;
  calls.check(calls->cuFuncGetAttribute(&declared, kFunctionSharedBytes, function), name);
  const int most = context.facts().shared_bytes_of_block - declared;
  if (most > 0) calls.check(calls->cuFuncSetAttribute(function, kFunctionMaxDynamicShared, most), name);
}

}  // namespace

CudaModule::CudaModule(CudaContext& context, std::string_view image, const std::string& name) : context_(context) {
  const std::string whole(image);  // text of PTX ends in a zero
  const CudaCalls calls(context);
  generation_ = calls.generation();
  calls.check(calls->cuModuleLoadDataEx(&module_, whole.c_str(), 0, nullptr, nullptr), name);
}

CudaModule::~CudaModule() {
  try {
    const CudaCalls calls(context_, generation_);
    calls->cuModuleUnload(module_);
  } catch (const Error&) {  // it went with its context
  }
}

Code CudaModule::find(const std::string& symbol) {
  const CudaCalls calls(context_, generation_);
  const std::lock_guard lock(mutex_);
  const auto [known, is_new] = codes_.try_emplace(symbol);
  if (is_new) try {
      calls.check(calls->cuModuleGetFunction(&known->second.function, module_, symbol.c_str()), symbol);
      allow_shared_memory(calls, context_, known->second.function, symbol);
    } catch (...) {
      codes_.erase(known);
      throw;
    }
  return &known->second;
}

void CudaLoader::add(std::span<const std::byte> object, const std::string& name) {
  modules_[name] = context_->module({reinterpret_cast<const char*>(object.data()), object.size()}, name);
}

Code CudaLoader::find(const std::string& symbol) { return modules_.at(symbol)->find(symbol); }

}  // namespace hone
