#include "jobs/plan_files.h"

#include "jobs/save_model.h"
#include "ops/calls/arithmetic.h"

namespace hone {
namespace {

// As it is stored: candidates of plain element types hold their values as f32.
Tensor stored(const Tensor& rounded, const std::string& format) {
  const std::optional<DType> plain = dtype_of_plain_format(parse_format(format));
  return plain && !rounded.is_packed() ? rounded.converted(*plain) : rounded;
}

// A format that would not make a tensor smaller leaves it as it is.
bool is_kept(const CandidateTensor& tensor, int format) {
  if (format == kPlain) return true;
  const Tensor& rounded = tensor.in(format);
  return !rounded.is_packed() && tensor.stored_bytes(format) == tensor.plain.bytes() && rounded.same_bits(tensor.plain);
}

}  // namespace

PlanFiles::PlanFiles(const FormatStudy& study, const Candidates& candidates, QuantizeOptions base,
                     std::optional<Compute> compute, std::string target)
    : study_(study), candidates_(candidates), base_(std::move(base)), compute_(compute), target_(std::move(target)) {}

std::string PlanFiles::format_of(size_t tensor, int format) const {
  return is_kept(candidates_.tensors[tensor], format) ? "keep" : candidates_.formats[static_cast<size_t>(format)];
}

QuantizeOptions PlanFiles::plan(std::span<const int> chosen) const {
  QuantizeOptions plan = base_;
  for (size_t t = 0; t < chosen.size(); ++t) {
    plan.rule.push_back(fmt::format("name:{}={}", candidates_.tensors[t].name, format_of(t, chosen[t])));
  }
  return plan;
}

int64_t PlanFiles::bytes_of(const Graph& graph, const std::map<std::string, std::string>& carried) const {
  const ExporterDef& exporter = exporter_for("plan." + target_);
  if (const std::optional<int64_t> bytes = exporter.bytes ? exporter.bytes(graph, carried) : std::nullopt)
    return *bytes;
  const ScratchFolder folder;
  return write_scratch_model(folder.path() + "/size." + target_, graph, carried);
}

double PlanFiles::cost(size_t tensor, int format) const {
  const CandidateTensor& t = candidates_.tensors[tensor];
  const std::string name = format_of(tensor, format);
  const Tensor constant = name == "keep" ? t.plain : stored(t.in(format), name);
  Graph graph;
  graph.add_output(ops::neg(graph, {graph.add_constant(t.name, constant)}), "y");
  return static_cast<double>(bytes_of(graph, {}));
}

int64_t PlanFiles::bytes(std::span<const int> chosen) {
  const auto [known, is_new] = bytes_.try_emplace({chosen.begin(), chosen.end()}, 0);
  if (!is_new) return known->second;
  QuantizeOptions nearest = plan(chosen);
  nearest.method = "nearest";
  Graph graph = quantize(study_.graph, nearest, {}, {.packer = study_.packer.get()});
  if (compute_) graph.metadata["compute"] = to_string(*compute_);
  return known->second = bytes_of(graph, study_.model.files);
}

PlanFiles::Written PlanFiles::write(std::span<const int> chosen) {
  Written written{.path = folder_.path() + "/plan." + target_};
  const QuantizedModel model = quantize_model(study_.model, plan(chosen), compute_, study_.data.calibration);
  written.bytes = write_scratch_model(written.path, model.graph, study_.model.files);
  return written;
}

}  // namespace hone
