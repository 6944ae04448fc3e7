#include "jobs/memory.h"

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "ir/bodies.h"
#include "jobs/quantize_model.h"
#include "jobs/scratch_folder.h"
#include "ops/calls/cast.h"
#include "ops/calls/gather.h"
#include "ops/calls/reshape.h"

namespace hone {
namespace {

constexpr OptionField<MemoryOptions> kOwn[] = {
    flag("to", "Formats, each tried on the layers alone and on layers and tables (default: mxint8,mxint4,mxfp4)",
         &MemoryOptions::to, {.has_commas = true, .takes_several = true}),
    flag("skip", "Regular expression on names of weights that are kept (repeatable)", &MemoryOptions::skip)};

struct Variant {
  std::string key, title;
  QuantizeOptions options;
};

// Whether ids are an input of the graph, perhaps in another shape: then the table holds tokens, else positions.
bool reads_an_input(const Graph& graph, ValueId ids) {
  while (graph.producer(ids) != kNone) {
    const Node& node = graph.node(graph.producer(ids));
    const OpDef* const op = node.op;
    if (op != &cast_def && op != &reshape_def && op != &squeeze_def && op != &unsqueeze_def) return false;
    ids = node.operands[0];
  }
  return graph.value(ids).kind == ValueKind::input;
}

WeightPart part_of(const Graph& graph, ValueId weight, bool changed) {
  for (const Graph::Use& use : graph.uses(weight)) {
    const Node& node = graph.node(use.node);
    const OpDef* const op = node.op;
    if (op == &gather_def)
      return reads_an_input(graph, node.operands[1]) ? WeightPart::tables : WeightPart::position_tables;
    const OperandSpec& spec = op->operands.of(static_cast<size_t>(use.operand));
    if (spec.bias) return WeightPart::biases;
    if (spec.weight) return changed ? WeightPart::packed_layers : WeightPart::kept_layers;
    if (std::string_view(op->name).ends_with("_norm")) return WeightPart::norms;
  }
  return WeightPart::others;
}

std::vector<Variant> variants(const std::vector<std::string>& formats, const MemoryOptions& options,
                              const Graph& graph) {
  const bool has_tables = std::ranges::any_of(graph.nodes(gather_def), [&](NodeId n) {
    const Tensor* table = graph.constant(graph.operand(n, 0));
    return table && is_float(table->dtype()) && table->shape().size() == 2;
  });
  std::vector<Variant> all;
  for (const std::string& format : formats) {
    QuantizeOptions layers{{.to = format, .rule = {}, .skip = options.skip, .activations = {}}};
    if (!has_tables) {
      all.push_back({format, format, layers});
      continue;
    }
    layers.rule = {"op:gather=keep"};
    all.push_back({format + "_layers", format + ", layers", layers});
    layers.rule.clear();
    all.push_back({format + "_and_tables", format + ", layers and tables", layers});
  }
  return all;
}

void add_tensors(MemoryAccount& account, const QuantizedModel& model) {
  double promised_bytes = 0;
  for (const QuantizedTensor& tensor : model.tensors) {
    const bool changed = tensor.choice.before != tensor.choice.after;
    const PlacedConstant stored = find_labelled(model.graph, tensor.choice.name);
    const WeightPart part = part_of(*stored.graph, stored.id, changed);
    account.stored[static_cast<size_t>(part)] += tensor.bytes_after;
    if (!changed) continue;
    account.packed_before += tensor.bytes_before, account.packed_after += tensor.bytes_after;
    promised_bytes += static_cast<double>(tensor.elements) * nominal_bits(*tensor.choice.format) / 8;
  }
  account.stored[static_cast<size_t>(WeightPart::others)] += sizes(model.graph).weight_bytes - account.all_stored();
  account.promised = 1 - promised_bytes / static_cast<double>(account.packed_before);
}

// All variants of one model, under the same conditions.
class Accounts {
 public:
  Accounts(const Model& source, const MemoryOptions& options, const TaskContext& context)
      : source_(source), shapes_(options.shapes()), session_(options.session_options()), context_(context) {
    bind_symbols(source.graph, shapes_);  // what does not fit is refused before the work
  }

  MemoryAccount of(const Variant& variant) const {
    MemoryAccount account{.key = variant.key, .title = variant.title};
    const std::string file = folder_.path() + "/" + variant.key + ".safetensors";
    {
      const QuantizedModel packed = quantize_model(source_, variant.options, std::nullopt);
      add_tensors(account, packed);
      if (account.packed_before == 0) fail("{}: nothing in it is packed as {}", source_.path, variant.title);
      if (context_.new_process) write_scratch_model(file, packed.graph, source_.files);
    }
    account.run = probed(file);
    std::filesystem::remove(file);
    return account;
  }

  // With the same tensors called packed layers as in `packed`.
  MemoryAccount of_original(const MemoryAccount& packed) const {
    MemoryAccount account{.key = "original", .title = source_.name, .stored = packed.stored};
    account.stored[static_cast<size_t>(WeightPart::packed_layers)] += packed.packed_before - packed.packed_after;
    std::string file = source_.path;
    if (file.empty() && context_.new_process) {
      file = folder_.path() + "/original.safetensors";
      write_scratch_model(file, source_.graph, source_.files);
    }
    account.run = probed(file);
    return account;
  }

  const SessionOptions& session() const { return session_; }

 private:
  // From its second process on: the first one leaves the machine code.
  std::optional<ProbeResult> probed(const std::string& file) const {
    if (!context_.new_process) return std::nullopt;
    ProbeOptions probe{.model = file, .text = std::nullopt, .shapes = shapes_, .session = session_};
    probe.session.cache_folder = folder_.path() + "/cache";
    context_.new_process(probe);
    context_.check();
    return context_.new_process(probe);
  }

  const Model& source_;
  const ShapeOptions shapes_;
  const SessionOptions session_;
  const TaskContext& context_;
  const ScratchFolder folder_;
};

}  // namespace

std::span<const OptionField<MemoryOptions>> MemoryOptions::own_fields() { return kOwn; }
std::span<const OptionField<MemoryOptions>> MemoryOptions::fields() {
  static const auto all = joined_fields<MemoryOptions>(kOwn, ShapeFlags::fields(), RunFlags::fields(),
                                                       RunFlags::trust_fields(), RunFlags::compute_fields());
  return all;
}

int64_t MemoryAccount::all_stored() const { return std::accumulate(stored.begin(), stored.end(), int64_t{0}); }

MemoryResult memory(const Model& model, const MemoryOptions& options, const TaskContext& context) {
  const Accounts accounts(model, options, context);
  const std::vector<std::string> formats =
      options.to.empty() ? std::vector<std::string>{"mxint8", "mxint4", "mxfp4"} : options.to;
  MemoryResult result{.name = model.name, .file = facts_of(model)};
  result.accounts.resize(1);
  for (const Variant& variant : variants(formats, options, canonicalise(model.graph))) {
    context.tell(variant.title);
    result.accounts.push_back(accounts.of(variant));
  }
  context.tell(model.name);
  result.accounts[0] = accounts.of_original(result.accounts[1]);
  if (const auto& device = accounts.session().device; device && device->free_bytes()) {
    result.on_device = true;
    result.notes = device->notes();
  }
  result.environment = environment();
  return result;
}

}  // namespace hone
