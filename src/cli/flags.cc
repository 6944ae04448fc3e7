#include "cli/flags.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include "base/cache_folder.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/registry.h"
#include "base/shell.h"
#include "device/registry.h"
#include "io/numpy.h"
#include "ir/text.h"
#include "passes/pass.h"
#include "report/html.h"
#include "report/json.h"
#include "report/text.h"

namespace hone {

constexpr int64_t kMostOfADimension = int64_t{1} << 40;  // products of a few are refused where they are made

void ModelFlags::add_to(CLI::App& app) {
  app.add_option("MODEL", model, "Hugging Face folder, .onnx file, or a file that hone wrote")->required();
  add_inputs_to(app);
}

void ModelFlags::add_inputs_to(CLI::App& app) {
  app.add_option("--inputs", inputs, "What the graph of a folder takes, e.g. input_ids,attention_mask,labels")
      ->delimiter(',');
}

LoadedModel ModelFlags::load() const { return load_model(model, inputs); }

void ShapeFlags::add_to(CLI::App& app) {
  app.add_option("--batch", options.batch, "Size of the first dimension of the inputs")
      ->check(CLI::Range(int64_t{1}, kMostOfADimension))
      ->capture_default_str();
  app.add_option(
         "--seq", options.sequence,
         "Size of their second dimension (default: 128, or what the model can take when that is less; what its weights "
         "and windows ask for comes first)")
      ->check(CLI::Range(int64_t{1}, kMostOfADimension));
  app.add_option("--dim", dims, "Size of a dimension by name, e.g. S=64; wins over --batch and --seq");
}

ShapeOptions ShapeFlags::get() const {
  ShapeOptions result = options;
  for (const auto& [name, value] : parse_pairs(dims, "--dim")) {
    int64_t size = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), size);
    if (error != std::errc() || end != value.data() + value.size() || size < 1 || size > kMostOfADimension)
      fail("--dim {}={}: a whole number from 1 to {} is needed", name, value, kMostOfADimension);
    result.dims[name] = size;
  }
  return result;
}

void GivenFlags::add_to(CLI::App& app) {
  app.add_option("--input", given, "An input from a file: name=x.npy; default: seeded data of the model's own shapes");
}

NamedTensors GivenFlags::get() const {
  NamedTensors inputs;
  for (const auto& [name, path] : parse_pairs(given, "--input")) inputs.emplace(name, read_npy(path));
  return inputs;
}

void TextFlags::add_to(CLI::App& app) {
  app.add_option("--text", texts, "A text (repeatable)")->allow_extra_args(false);
  app.add_option("--text-file", file, "A file with one text per line");
}

std::vector<std::string> TextFlags::get() const {
  if (file.empty()) return texts;
  if (!texts.empty()) fail("--text and --text-file: give one of them");
  std::istringstream content(read_file(file));
  std::vector<std::string> lines;
  for (std::string line; std::getline(content, line);) lines.push_back(line);
  if (lines.empty()) fail("{}: is empty; one text per line is expected", file);
  return lines;
}

void RunFlags::add_to(CLI::App& app) {
  add_all_but_trust_to(app);
  app.add_flag(
      "--trust-code", trust_code,
      "Run the machine code that the model's file carries (hone compile): it is a program, and can do whatever "
      "hone can");
}

void add_device_to(CLI::App& app, std::string& device) {
  std::string what = "Device that runs the model:";
  for (const DeviceDef* def : device::all())
    what +=
        fmt::format(" {}{}{}", def->name, *def->variants ? "[:VARIANT]" : "", def == device::all().back() ? "" : ",");
  if (const DeviceDef* cpu = find_device("cpu"))
    what += fmt::format("; cpu:{} is --isa {}", cpu->example, cpu->example);
  app.add_option("--device", device, what + "; auto: a GPU where there is one, else the CPU (default: cpu)");
}

void add_no_fallback_to(CLI::App& app, bool& no_fallback) {
  app.add_flag("--no-fallback", no_fallback,
               "Refuse, and list, steps that the device has no kernel for, which kernels of the host run otherwise, on "
               "copies, and where there are none the interpreter");
}

std::shared_ptr<Device> device_of(const std::string& device, const std::string& isa) {
  if (!device.empty() && !isa.empty())
    fail("--device {} and --isa {}: give one of them; --isa {} is --device cpu:{}", device, isa, isa, isa);
  if (!device.empty()) {
    std::shared_ptr<Device> opened = open_device(device);
    if (device == "auto") log(LogLevel::note, fmt::format("--device auto is {} here", text_of(*opened)));
    return opened;
  }
  return isa.empty() ? nullptr : open_device("cpu:" + isa);
}

void RunFlags::add_all_but_trust_to(CLI::App& app) {
  add_device_to(app, device);
  add_no_fallback_to(app, no_fallback);
  std::string what;
  for (const DeviceDef* def : device::all())
    what += fmt::format("{}{}: {}", what.empty() ? "" : "; ", def->name, def->doc);
  app.add_option("--backend", backend, what)
      ->check(CLI::IsMember(names_of<DeviceDef>(device::all())))
      ->capture_default_str();
  app.add_option("-O,--optimise", optimise, "0: as it is, interpreted; 1: canonical form, interpreted; 2: compiled")
      ->check(CLI::Range(0, 2))
      ->capture_default_str();
  if (const DeviceDef* cpu = find_device("cpu"))
    app.add_option("--isa", isa, fmt::format("{} (default: host)", cpu->variants));
  app.add_flag("--no-fusion", no_fusion, "Give each node a kernel of its own");
  app.add_flag("--no-winograd", no_winograd,
               "Sums of products as they are written: no Winograd convolutions, whose rounding errors are larger");
  app.add_option("--threads", threads, "Threads to use")->check(CLI::Range(1, 1024))->capture_default_str();
  app.add_option("--no-pass", no_pass, "Leave a pass out (repeatable)")->allow_extra_args(false);
  app.add_option("--print-after", print_after, "Print the graph to stderr after a pass, or after `all` (repeatable)")
      ->allow_extra_args(false);
  app.add_flag("--verify", verify, "Verify the graph after every pass");
  app.add_option("--cache", cache, "Folder for machine code (default: $HONE_CACHE or ~/.cache/hone)");
  app.add_flag("--no-cache", no_cache, "Neither read nor write machine code on disk");
}

void RunFlags::add_compute_to(CLI::App& app) {
  app.add_option("--compute", compute,
                 "What products read activations in: f32 or bf16; sums are f32 (default: as stored in the model)");
}

SessionOptions RunFlags::options() const {
  SessionOptions options;
  if (backend != "cpu" && !device.empty()) fail("--device {} and --backend {}: give one of them", device, backend);
  if (backend != "cpu" && !isa.empty())
    fail("--backend {} and --isa {}: --isa is of the CPU; leave one of them out", backend, isa);
  options.device = backend != "cpu" ? open_device(backend) : device_of(device, isa);
  options.optimise = optimise;
  if (!compute.empty()) options.compute = parse_compute(compute);
  if (options.compute == Compute::bf16 && options.device)
    if (const std::string why = options.device->why_no_bf16(); !why.empty()) fail("--compute bf16: {}", why);
  options.no_winograd = no_winograd;
  options.fuse = !no_fusion;
  options.no_fallback = no_fallback;
  options.model_code = trust_code;
  options.threads = threads;
  // What opens sessions of its own, such as the check of a written file, follows by the variable.
  if (no_cache || !cache.empty()) setenv("HONE_CACHE", no_cache ? "" : cache.c_str(), 1);
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

CLI::Validator real_range(double least, double most) {
  return CLI::Validator(
      [least, most](const std::string& text) {
        double value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        const bool is_number = error == std::errc() && end == text.data() + text.size();
        return is_number && value >= least && value <= most
                   ? std::string()
                   : fmt::format("{} is not a number from {:g} to {:g}", text, least, most);
      },
      fmt::format("FLOAT in [{:g} - {:g}]", least, most));
}

CLI::Validator seconds_range() { return real_range(1e-3, 86400); }

void OutputFlags::add_to(CLI::App& app) { app.add_flag("--json", json, "Print the result as JSON"); }

void OutputFlags::add_report_to(CLI::App& app) { app.add_option("--report", report, "HTML file to write"); }

void OutputFlags::print(const Record& record) const {
  if (json) print_json(json_text(record));
  else print_text(text(record));
}

Report::Report(const OutputFlags& flags) : flags_(flags) {
  if (!flags.report.empty()) file_.emplace(flags.report);
}

void Report::finish(const Record& record) {
  flags_.print(record);
  if (!file_) return;
  file_->write(html(record));
  file_->commit();
}

namespace {
void write_out(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) fail("standard output: writing failed");
}
}  // namespace

void print_text(std::string_view text) { write_out(printable(text)); }
void print_json(std::string_view json) { write_out(printable_json(json)); }

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

namespace {
std::vector<std::string> the_words;  // the program first
std::set<std::string> the_reads;

std::string absolute(const std::string& path) {
  std::error_code unknown;
  const std::filesystem::path whole = std::filesystem::absolute(path, unknown).lexically_normal();
  return unknown ? path : whole.string();
}

// A path that is read, alone or behind "--data=" or the name of an input, leads there from every folder.
std::string from_everywhere(const std::string& word) {
  if (the_reads.contains(word)) return absolute(word);
  const size_t equals = word.find('=');
  if (equals == word.npos || !the_reads.contains(word.substr(equals + 1))) return word;
  return word.substr(0, equals + 1) + absolute(word.substr(equals + 1));
}
}  // namespace

std::string this_command() {
  std::vector<std::string> words;
  for (const std::string& word : the_words) words.push_back(from_everywhere(word));
  return shell_line(words);
}

void set_this_command(const std::string& program, int argc, char** argv) {
  const std::string called = argc > 0 ? argv[0] : program;
  the_words = {called.find('/') == called.npos ? program : absolute(called)};
  the_words.insert(the_words.end(), argv + std::min(argc, 1), argv + argc);
}

void reads_in_this_command(const std::string& path) { the_reads.insert(path); }

}  // namespace hone
