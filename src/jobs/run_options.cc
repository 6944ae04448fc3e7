#include "jobs/run_options.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "base/atomic_file.h"
#include "base/cache_folder.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/registry.h"
#include "device/registry.h"
#include "io/numpy.h"
#include "ir/text.h"
#include "passes/pass.h"

namespace hone {
namespace {

constexpr int64_t kMostOfADimension = int64_t{1} << 40;  // products of a few are refused where they are made

constexpr OptionField<ShapeFlags> kShapes[] = {
    flag("batch", "Size of the first dimension of the inputs", &ShapeFlags::batch,
         {.least = 1, .most = kMostOfADimension}),
    flag("seq",
         "Size of the inputs' second dimension (default: 128, or what the model can take when that is less; what its "
         "weights "
         "and "
         "windows ask for comes first)",
         &ShapeFlags::seq, {.least = 1, .most = kMostOfADimension}),
    flag("dim", "Size of a dimension by name, e.g. S=64; it overrides --batch and --seq", &ShapeFlags::dim,
         {.value = "NAME=SIZE", .takes_several = true})};

constexpr OptionField<GivenFlags> kGiven[] = {
    flag("input", "An input from a file: name=x.npy; default: seeded data of the model's own shapes",
         &GivenFlags::input, {.file = OptionFile::reads_pairs, .takes_several = true})};

constexpr OptionField<TextFlags> kTexts[] = {
    flag("text", "A text (repeatable)", &TextFlags::text),
    flag("text-file", "A file with one text per line", &TextFlags::text_file, {.file = OptionFile::reads})};

std::string known_devices() {
  std::string text;
  for (const DeviceDef* def : device::all())
    text += fmt::format("{} {}{}", text.empty() ? "" : ",", def->name, *def->variants ? "[:VARIANT]" : "");
  if (const DeviceDef* cpu = find_device("cpu"))
    text += fmt::format("; cpu:{} is --isa {}", cpu->example, cpu->example);
  return text + "; auto: a GPU where there is one, else the CPU (default: cpu)";
}

std::string cpu_variants() {
  const DeviceDef* cpu = find_device("cpu");
  return cpu ? fmt::format("{} (default: host)", cpu->variants) : "";
}

std::vector<std::string> device_names() { return names_of<DeviceDef>(device::all()); }

std::string what_devices_are() {
  std::string what;
  for (const DeviceDef* def : device::all())
    what += fmt::format("{}{}: {}", what.empty() ? "" : "; ", def->name, def->doc);
  return what;
}

constexpr OptionField<DeviceFlags> kDevice[] = {
    flag("device", "Device that runs the model:", &DeviceFlags::device, {.more_doc = known_devices}),
    flag("isa", "", &DeviceFlags::isa, {.more_doc = cpu_variants}),
    flag("no-fallback",
         "Refuse, and list, steps that the device has no kernel for, which kernels of the host run otherwise, on "
         "copies, "
         "and where there are none the interpreter",
         &DeviceFlags::no_fallback)};

constexpr OptionField<RunFlags> kRun[] = {
    flag("backend", "", &RunFlags::backend, {.choices = device_names, .more_doc = what_devices_are}),
    flag("optimise", "0: as it is, interpreted; 1: canonical form, interpreted; 2: compiled", &RunFlags::optimise,
         {.least = 0, .most = 2, .letter = 'O'}),
    flag("threads", "Threads to use", &RunFlags::threads, {.least = 1, .most = 1024}),
    flag("print-after", "Print the graph to stderr after a pass, or after `all` (repeatable)", &RunFlags::print_after),
    flag("verify", "Verify the graph after every pass", &RunFlags::verify),
    flag("cache", "Folder for machine code (default: $HONE_CACHE or ~/.cache/hone)", &RunFlags::cache,
         {.value = "FOLDER"}),
    flag("no-cache", "Neither read nor write machine code on disk", &RunFlags::no_cache)};

constexpr OptionField<RunFlags> kPlan[] = {
    flag("no-fusion", "Give each node a kernel of its own", &RunFlags::no_fusion),
    flag("no-winograd",
         "Sums of products as they are written: no Winograd convolutions, whose rounding errors are larger",
         &RunFlags::no_winograd),
    flag("no-pass", "Leave a pass out (repeatable)", &RunFlags::no_pass)};

constexpr OptionField<RunFlags> kTrust[] = {flag(
    "trust-code",
    "Run the machine code that the model's file carries (hone compile): it is a program, and can do whatever hone can",
    &RunFlags::trust_code)};

constexpr OptionField<RunFlags> kCompute[] = {flag(
    "compute", "Type that products read activations in: f32 or bf16; sums are f32 (default: as stored in the model)",
    &RunFlags::compute)};

constexpr OptionField<SeedFlags> kSeed[] = {
    flag("seed", "Random seed for generated inputs and for the order of rounds", &SeedFlags::seed)};

constexpr OptionField<SecondsFlags> kSeconds[] = {
    flag("seconds", "Longest measured part", &SecondsFlags::seconds, {.least = kLeastSeconds, .most = kMostSeconds})};

constexpr OptionField<CheckFiniteFlags> kCheckFinite[] = {
    flag("check-finite", "Look at every result of the first run; name the first step that computes NaN or an infinity",
         &CheckFiniteFlags::check_finite)};

}  // namespace

std::span<const OptionField<ShapeFlags>> ShapeFlags::fields() { return kShapes; }
std::span<const OptionField<GivenFlags>> GivenFlags::fields() { return kGiven; }
std::span<const OptionField<TextFlags>> TextFlags::fields() { return kTexts; }
std::span<const OptionField<DeviceFlags>> DeviceFlags::fields() { return kDevice; }
std::span<const OptionField<RunFlags>> RunFlags::fields() {
  static const auto all = joined_fields<RunFlags>(kDevice, kRun, kPlan);
  return all;
}
std::span<const OptionField<RunFlags>> RunFlags::plan_fields() { return kPlan; }
std::span<const OptionField<RunFlags>> RunFlags::trust_fields() { return kTrust; }
std::span<const OptionField<RunFlags>> RunFlags::compute_fields() { return kCompute; }
std::span<const OptionField<SeedFlags>> SeedFlags::fields() { return kSeed; }
std::span<const OptionField<SecondsFlags>> SecondsFlags::fields() { return kSeconds; }
std::span<const OptionField<CheckFiniteFlags>> CheckFiniteFlags::fields() { return kCheckFinite; }

ShapeOptions ShapeFlags::shapes() const {
  ShapeOptions result;
  result.batch = batch, result.sequence = seq;
  for (const auto& [name, value] : parse_pairs(dim, "--dim")) {
    int64_t size = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), size);
    if (error != std::errc() || end != value.data() + value.size() || size < 1 || size > kMostOfADimension)
      fail("--dim {}={}: a whole number from 1 to {} is needed", name, value, kMostOfADimension);
    result.dims[name] = size;
  }
  return result;
}

NamedTensors GivenFlags::given() const {
  NamedTensors inputs;
  for (const auto& [name, path] : parse_pairs(input, "--input")) inputs.emplace(name, read_npy(path));
  return inputs;
}

std::vector<std::string> TextFlags::texts() const {
  if (text_file.empty()) return text;
  if (!text.empty()) fail("--text and --text-file: give one of them");
  std::istringstream content(read_file(text_file));
  std::vector<std::string> lines;
  for (std::string line; std::getline(content, line);) lines.push_back(line);
  if (lines.empty()) fail("{}: is empty; one text per line is expected", text_file);
  return lines;
}

std::shared_ptr<Device> DeviceFlags::asked_device() const {
  if (!device.empty() && !isa.empty())
    fail("--device {} and --isa {}: give one of them; --isa {} is --device cpu:{}", device, isa, isa, isa);
  if (!device.empty()) {
    std::shared_ptr<Device> opened = open_device(device);
    if (device == "auto") log(LogLevel::note, fmt::format("--device auto is {} here", text_of(*opened)));
    return opened;
  }
  return isa.empty() ? nullptr : open_device("cpu:" + isa);
}

SessionOptions RunFlags::session_options() const {
  SessionOptions options;
  if (backend != "cpu" && !device.empty()) fail("--device {} and --backend {}: give one of them", device, backend);
  if (backend != "cpu" && !isa.empty())
    fail("--backend {} and --isa {}: --isa is of the CPU; leave one of them out", backend, isa);
  options.device = backend != "cpu" ? open_device(backend) : asked_device();
  options.optimise = static_cast<int>(optimise);
  if (!compute.empty()) options.compute = parse_compute(compute);
  if (options.compute == Compute::bf16 && options.device)
    if (const std::string why = options.device->why_no_bf16(); !why.empty()) fail("--compute bf16: {}", why);
  options.no_winograd = no_winograd;
  options.fuse = !no_fusion;
  options.no_fallback = no_fallback;
  options.model_code = trust_code;
  options.threads = static_cast<int>(threads);
  if (!no_cache) options.cache_folder = cache.empty() ? default_cache_folder() : std::optional(cache);
  options.pipeline.disabled = no_pass;
  options.pipeline.verify = verify;
  for (const std::string& name : print_after)
    if (name != "all") check_pass_names({name});
  if (!print_after.empty())
    options.pipeline.after = [wanted = print_after](const PassDef& pass, const Graph& graph, double milliseconds) {
      for (const std::string& name : wanted)
        if (name == "all" || name == pass.name)
          std::fprintf(stderr, "# after %s (%.2f ms)\n%s", pass.name, milliseconds, printable(print(graph)).c_str());
    };
  return options;
}

std::map<std::string, std::string> parse_pairs(const std::vector<std::string>& items, const std::string& flag) {
  std::map<std::string, std::string> pairs;
  for (const std::string& item : items) {
    const size_t equals = item.find('=');
    if (equals == std::string::npos || equals == 0) fail("{} {}: expected name=value", flag, item);
    if (!pairs.emplace(item.substr(0, equals), item.substr(equals + 1)).second)
      fail("{}: {} is given twice", flag, item.substr(0, equals));
  }
  return pairs;
}

}  // namespace hone
