#include "device/llvm/object_library.h"

#include <chrono>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "base/clock.h"
#include "base/memory_limit.h"
#include "base/stop.h"
#include "base/threads.h"
#include "device/device_lost.h"
#include "device/llvm/llvm_kernel.h"
#include "device/llvm/object_bundle.h"
#include "kernels/kernel.h"

namespace hone {
namespace {

struct Compiled {
  std::vector<std::byte> object, image;  // the image where the target assembles
  bool spilled = false;                  // a smaller tile took the place of the first choice
};

// Code for one plan. Where registers spill, the generator is asked for smaller tiles as long as it has any.
Compiled compile_plan(ObjectCompiler& compiler, const ObjectTarget& target, const KernelPlan& plan,
                      const std::string& symbol) {
  const Device& device = *target.device;
  const auto& kernel = static_cast<const LlvmKernel&>(implementation_of(device, plan));
  for (int shrink = 0;; ++shrink) {
    ObjectCode code = compiler.compile([&](Emitter& e) { kernel.emit(e, plan, symbol, shrink); });
    Assembled assembled;
    if (target.assemble) assembled = target.assemble(code.bytes, symbol);
    if ((code.spilled.empty() && !assembled.spills) || !kernel.can_shrink(device, plan, shrink + 1))
      return Compiled{std::move(code.bytes), std::move(assembled.image), shrink > 0};
  }
}

std::string symbol_of(const KernelPlan& plan, const ObjectKey& key) {
  return fmt::format("hone_{}_{}", plan.kernel().name, key.hex());
}

}  // namespace

struct ObjectLibrary::Impl {
  // A plan that is not in `kernels` yet.
  struct Wanted {
    const KernelPlan* plan;
    std::string text, symbol;
    ObjectKey key;
    Compiled code;
    enum class Source : uint8_t { compiled, cached, bundled } source = Source::compiled;
    std::string problem;  // why it is not kept on disk
    std::string note;     // why code of a bundle is left aside
  };

  Impl(ObjectTarget t, const CompilerOptions& o) : target(std::move(t)), options(o) {
    if (o.cache_folder) cache.emplace(*o.cache_folder);
    for (const std::string& bundle : o.bundled) {
      UnpackedBundle unpacked = unpack_bundle(bundle, target.code_target);
      bundled.merge(unpacked.objects);
      if (statistics.bundle_note.empty()) statistics.bundle_note = std::move(unpacked.note);
    }
  }

  std::vector<Wanted> missing(std::span<const KernelPlan> plans, std::span<const std::string> texts) const {
    std::vector<Wanted> wanted;
    std::unordered_map<std::string_view, bool> seen;
    for (size_t i = 0; i < plans.size(); ++i) {
      if (kernels.contains(texts[i]) || !seen.emplace(texts[i], true).second) continue;
      if (const Support support = supports(*target.device, plans[i]); !support.supported())
        fail("no machine code for this {} kernel at {}: {}. Try: run it with the reference backend",
             plans[i].kernel().name, target.device->variant(), support.why);
      const ObjectKey key = object_key(texts[i], target.code_target);
      wanted.push_back({.plan = &plans[i], .text = texts[i], .symbol = symbol_of(plans[i], key), .key = key});
    }
    return wanted;
  }

  // What the disk has of a plan. An image of foreign code is known by that code alone: nobody else gets it.
  ObjectKey disk_key(const Wanted& w) const {
    if (!target.assemble) return w.key;
    if (w.source != Wanted::Source::bundled)
      return object_key(w.text, fmt::format("{}, {}", target.code_target, target.image_target));
    const std::vector<std::byte>& code = w.code.object;
    return object_key({reinterpret_cast<const char*>(code.data()), code.size()}, target.image_target);
  }

  void find_objects(std::span<Wanted> wanted) const {
    for (Wanted& w : wanted) {
      check_stop();
      if (const auto found = bundled.find(w.key.hex()); found != bundled.end())
        w.code.object = found->second, w.source = Wanted::Source::bundled;
      if (!cache || options.keep_objects || (!target.assemble && w.source == Wanted::Source::bundled)) continue;
      std::optional<std::vector<std::byte>> kept = cache->read(disk_key(w));
      if (!kept) continue;
      (target.assemble ? w.code.image : w.code.object) = std::move(*kept);
      if (w.source == Wanted::Source::compiled) w.source = Wanted::Source::cached;
    }
  }

  bool is_whole(const Wanted& w) const { return !(target.assemble ? w.code.image : w.code.object).empty(); }

  // Code of a bundle that the driver takes, or the generator's.
  void make(ObjectCompiler& compiler, Wanted& w) const {
    if (w.source == Wanted::Source::bundled) try {
        w.code.image = target.assemble(w.code.object, w.symbol).image;
      } catch (const DeviceLost&) {
        throw;
      } catch (const MemoryError&) {
        throw;
      } catch (const Error& error) {
        w.note = fmt::format("a part of the code in the model's file is left aside: {}", error.what());
      }
    if (!is_whole(w)) {
      w.source = Wanted::Source::compiled;
      w.code = compile_plan(compiler, target, *w.plan, w.symbol);
    }
    if (cache) w.problem = cache->write(disk_key(w), target.assemble ? w.code.image : w.code.object);
  }

  void compile_missing(std::span<Wanted> wanted) {
    std::vector<Wanted*> todo;
    for (Wanted& w : wanted)
      if (!is_whole(w)) todo.push_back(&w);
    const int threads = std::max(1, options.threads);
    if (compilers.size() < static_cast<size_t>(threads)) compilers.resize(static_cast<size_t>(threads));
    auto chunk = [&](int64_t begin, int64_t end, int thread) {
      auto& compiler = compilers[static_cast<size_t>(thread)];
      if (!compiler) compiler = std::make_unique<ObjectCompiler>(target.machine);
      for (int64_t i = begin; i < end; ++i) make(*compiler, *todo[static_cast<size_t>(i)]);
    };
    parallel_chunks(static_cast<int64_t>(todo.size()), 1, threads, chunk);
  }

  // An image of the disk or of foreign code that the driver refuses is made anew.
  void add(Wanted& w) {
    if (!target.assemble) return loader->add(w.code.object, w.symbol);
    try {
      loader->add(w.code.image, w.symbol);
      loader->find(w.symbol);
      return;
    } catch (const DeviceLost&) {
      throw;
    } catch (const MemoryError&) {
      throw;
    } catch (const Error& error) {
      if (w.source == Wanted::Source::compiled) throw;
      if (w.source == Wanted::Source::bundled)
        w.note = fmt::format("a part of the code in the model's file is left aside: {}", error.what());
    }
    w.source = Wanted::Source::compiled;
    w.code.image.clear();
    compile_missing({&w, 1});
    loader->add(w.code.image, w.symbol);
  }

  void load(std::span<Wanted> wanted) {
    if (wanted.empty()) return;
    if (!loader) loader = target.make_loader();
    check_stop();  // not below: what is added is loaded, or adding it again would define it twice
    for (Wanted& w : wanted) add(w);
    for (const Wanted& w : wanted) {
      kernels[w.text] = loader->find(w.symbol);
      count(w);
      if (options.keep_objects) kept.push_back({w.key, w.code.object});
    }
  }

  void count(const Wanted& w) {
    int* const counts[] = {&statistics.compiled, &statistics.cached, &statistics.bundled};
    ++*counts[static_cast<size_t>(w.source)];
    statistics.spilled += w.code.spilled;
    if (!w.note.empty() && statistics.bundle_note.empty()) statistics.bundle_note = w.note;
    if (!w.problem.empty() && statistics.cache_problem.empty())
      statistics.cache_problem =
          fmt::format("{}: machine code is not kept there: {}", *options.cache_folder, w.problem);
  }

  const ObjectTarget target;
  const CompilerOptions options;
  std::optional<ObjectCache> cache;
  ObjectMap bundled;
  std::vector<SealedObject> kept;
  std::vector<std::unique_ptr<ObjectCompiler>> compilers;  // one a thread
  std::unique_ptr<ObjectLoader> loader;
  std::unordered_map<std::string, Code> kernels;  // by the plan's text
  CompileStatistics statistics;
  std::mutex mutex;
};

ObjectLibrary::ObjectLibrary(ObjectTarget target, const CompilerOptions& options)
    : impl_(std::make_unique<Impl>(std::move(target), options)) {}
ObjectLibrary::~ObjectLibrary() = default;

std::vector<Code> ObjectLibrary::compile(std::span<const KernelPlan> plans) {
  const std::lock_guard lock(impl_->mutex);
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::string> texts;
  for (const KernelPlan& plan : plans) {
    check_stop();
    texts.push_back(plan.text());
  }
  std::vector<Impl::Wanted> wanted = impl_->missing(plans, texts);
  impl_->find_objects(wanted);
  impl_->compile_missing(wanted);
  impl_->load(wanted);
  std::vector<Code> kernels;
  for (const std::string& text : texts) kernels.push_back(impl_->kernels.at(text));
  impl_->statistics.milliseconds += milliseconds_since(start);
  return kernels;
}

std::string ObjectLibrary::bundle() const {
  CHECK(impl_->options.keep_objects);
  return bundle_objects(impl_->target.code_target, impl_->kept);
}

const CompileStatistics& ObjectLibrary::statistics() const { return impl_->statistics; }

}  // namespace hone
