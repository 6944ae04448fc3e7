#include "jobs/probe.h"

#include <fmt/format.h>

#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "base/clock.h"
#include "io/numpy.h"
#include "ir/bodies.h"
#include "jobs/child_process.h"
#include "jobs/load_model.h"
#include "jobs/open_session.h"
#include "jobs/sentences.h"
#include "measure/memory.h"

namespace hone {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<std::string> arguments(const std::string& program, const ProbeOptions& o) {
  std::vector<std::string> args{program, "probe", o.model, "--threads", std::to_string(o.session.threads)};
  auto add = [&](const char* flag, const std::string& value) { args.insert(args.end(), {flag, value}); };
  add("--batch", std::to_string(o.shapes.batch));
  if (o.shapes.sequence) add("--seq", std::to_string(*o.shapes.sequence));
  if (o.session.device) add("--device", text_of(*o.session.device));
  add("--optimise", std::to_string(o.session.optimise));
  for (const std::string& pass : o.session.pipeline.disabled) add("--no-pass", pass);
  if (o.session.pipeline.verify) args.push_back("--verify");
  if (o.session.no_winograd) args.push_back("--no-winograd");
  if (o.session.model_code) args.push_back("--trust-code");
  if (!o.session.fuse) args.push_back("--no-fusion");
  for (const auto& [name, size] : o.shapes.dims) add("--dim", fmt::format("{}={}", name, size));
  if (!o.format.empty()) add("--format", o.format);
  if (!o.inputs.empty()) add("--inputs", fmt::format("{}", fmt::join(o.inputs, ",")));
  if (o.session.compute) add("--compute", std::string(to_string(*o.session.compute)));
  if (o.session.cache_folder) add("--cache", *o.session.cache_folder);
  else args.push_back("--no-cache");
  if (o.text) add("--text", *o.text);
  if (!o.given.empty()) add("--input-file", o.given);
  return args;
}

// NumPy's type that holds all numbers of a type it has none for.
DType numpy_type(DType dtype) {
  if (is_float(dtype)) return dtype == DType::f16 || dtype == DType::f64 ? dtype : DType::f32;
  return is_integer(dtype) && integer_bits(dtype) < 8 ? DType::i8 : dtype;
}

// As save_inputs wrote them, in the types that the graph takes.
NamedTensors read_inputs(const Graph& graph, const std::string& path) {
  NamedTensors inputs;
  for (NamedTensor& array : read_npz(path)) inputs.emplace(array.name, std::move(array.tensor));
  for (ValueId v : graph.inputs()) {
    const Value& value = graph.value(v);
    const auto found = inputs.find(value.label);
    if (found == inputs.end() || found->second.dtype() == value.type.dtype) continue;
    if (numpy_type(value.type.dtype) == found->second.dtype())
      found->second = found->second.converted(value.type.dtype);
  }
  return inputs;  // what does not fit is for the session to say
}

std::optional<int64_t> free_on(const std::shared_ptr<Device>& device) {
  return device ? device->free_bytes() : std::nullopt;
}

}  // namespace

void save_inputs(const std::string& path, const NamedTensors& inputs) {
  std::vector<NamedTensor> arrays;
  for (const auto& [name, tensor] : inputs) {
    if (tensor.dtype() == DType::string || tensor.container() != Container::none || tensor.is_packed())
      fail("input \"{}\" is {}: a process that is measured by itself can't be given that; leave it out (--no-probe)",
           name, to_string(tensor.type()));
    const DType stored = numpy_type(tensor.dtype());
    arrays.push_back({name, stored == tensor.dtype() ? tensor : tensor.converted(stored)});
  }
  write_npz(path, arrays);
}

ProbeResult probe(const ProbeOptions& options, const std::function<void()>& first_result) {
  ProbeResult result;
  const std::optional<int64_t> free_before = free_on(options.session.device);
  result.empty_bytes = memory_use().resident_bytes;
  auto start = Clock::now();
  Model model = load_model(options.model, options.inputs, options.format);
  result.load_ms = milliseconds_since(start);
  result.weight_bytes = sizes(model.graph).weight_bytes;
  for_each_graph(model.graph, [&](const Graph& each) {
    for (ValueId id : each.constants())
      result.largest_tensor_bytes = std::max(result.largest_tensor_bytes, each.constant(id)->bytes());
  });
  const std::vector<std::string> files = model.weight_files;
  std::optional<SentenceEncoder> encoder;
  std::optional<Session> session;
  if (options.text) encoder.emplace(std::move(model), options.session);
  if (!encoder) session.emplace(open_session(std::move(model), options.session));  // NOLINT(bugprone-use-after-move)
  Session& used = encoder ? encoder->session() : *session;
  NamedTensors inputs;
  if (session && !options.given.empty()) inputs = read_inputs(session->graph(), options.given);
  else if (session) inputs = default_inputs(session->graph(), bind_symbols(session->graph(), options.shapes), 1);
  auto run = [&] {
    if (encoder) encoder->embed({*options.text});
    else session->run(inputs);
  };
  start = Clock::now();
  run();
  result.first_run_ms = milliseconds_since(start);
  first_result();
  for (int i = 0; i < 3; ++i) run();
  const SessionStatistics& s = used.statistics();
  result.prepare_ms = s.prepare_milliseconds + s.specialise_milliseconds;
  result.compile_ms = s.compile_milliseconds;
  result.prepack_ms = s.prepack_milliseconds;
  result.kernels_compiled = s.kernels_compiled;
  result.kernels_cached = s.kernels_cached;
  result.prepacked_bytes = s.prepacked_bytes;
  result.direct_weight_bytes = s.direct_weight_bytes;
  result.arena_bytes = s.arena_bytes;
  result.scratch_bytes = s.scratch_bytes;
  if (free_before) {
    result.device_bytes = *free_before - *free_on(options.session.device);
    result.inputs_and_outputs_bytes = s.output_bytes;
    for (const auto& [name, tensor] : inputs) result.inputs_and_outputs_bytes += tensor.bytes();
  }
  const MemoryUse memory = memory_use();
  result.resident_bytes = memory.resident_bytes;
  result.peak_bytes = memory.peak_bytes;
  result.anonymous_bytes = memory.anonymous_bytes;
  result.model_page_bytes = resident_bytes_of_files(files);
  return result;
}

Json to_json(const ProbeResult& r) {
  return {{"load_ms", r.load_ms},
          {"prepare_ms", r.prepare_ms},
          {"compile_ms", r.compile_ms},
          {"prepack_ms", r.prepack_ms},
          {"first_run_ms", r.first_run_ms},
          {"kernels_compiled", r.kernels_compiled},
          {"kernels_cached", r.kernels_cached},
          {"empty_bytes", r.empty_bytes},
          {"resident_bytes", r.resident_bytes},
          {"peak_bytes", r.peak_bytes},
          {"anonymous_bytes", r.anonymous_bytes},
          {"model_page_bytes", r.model_page_bytes},
          {"weight_bytes", r.weight_bytes},
          {"largest_tensor_bytes", r.largest_tensor_bytes},
          {"prepacked_bytes", r.prepacked_bytes},
          {"direct_weight_bytes", r.direct_weight_bytes},
          {"arena_bytes", r.arena_bytes},
          {"scratch_bytes", r.scratch_bytes},
          {"inputs_and_outputs_bytes", r.inputs_and_outputs_bytes},
          {"device_bytes", r.device_bytes}};
}

ProbeResult probe_result_from_json(const Json& json) {
  auto get = [&](const char* key, auto& value) {
    value = json_get<std::decay_t<decltype(value)>>(json, key, "hone probe");
  };
  ProbeResult r;
  get("load_ms", r.load_ms), get("prepare_ms", r.prepare_ms), get("compile_ms", r.compile_ms),
      get("prepack_ms", r.prepack_ms);
  get("first_run_ms", r.first_run_ms), get("kernels_compiled", r.kernels_compiled),
      get("kernels_cached", r.kernels_cached);
  get("empty_bytes", r.empty_bytes), get("resident_bytes", r.resident_bytes), get("peak_bytes", r.peak_bytes);
  get("anonymous_bytes", r.anonymous_bytes), get("prepacked_bytes", r.prepacked_bytes),
      get("direct_weight_bytes", r.direct_weight_bytes);
  get("model_page_bytes", r.model_page_bytes), get("weight_bytes", r.weight_bytes),
      get("largest_tensor_bytes", r.largest_tensor_bytes);
  get("arena_bytes", r.arena_bytes), get("scratch_bytes", r.scratch_bytes);
  get("inputs_and_outputs_bytes", r.inputs_and_outputs_bytes), get("device_bytes", r.device_bytes);
  return r;
}

ProbeResult probe_in_new_process(const std::string& program, const ProbeOptions& options) {
  const ChildOutput child = run_child(arguments(program, options));
  if (!WIFEXITED(child.status) || WEXITSTATUS(child.status) != 0)
    fail("{}: measuring it in a process of its own failed: {}", options.model,
         child.errors.empty() ? "it was killed" : child.errors);
  const size_t first_line = child.out.find('\n');
  CHECK(first_line != std::string::npos);
  ProbeResult result = probe_result_from_json(parse_json(child.out.substr(first_line + 1), "hone probe"));
  result.first_result_ms = child.first_line_ms;
  return result;
}

std::string this_program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

}  // namespace hone
