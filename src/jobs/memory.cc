#include "jobs/memory.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "ir/bodies.h"
#include "jobs/probe.h"
#include "jobs/quantize_model.h"
#include "jobs/scratch_folder.h"
#include "measure/environment.h"
#include "ops/calls/cast.h"
#include "ops/calls/gather.h"
#include "ops/calls/reshape.h"
#include "report/number_text.h"

namespace hone {
namespace {

// What weights are for.
enum class Part : uint8_t { packed_layers, kept_layers, tables, position_tables, norms, biases, others };
constexpr std::array<const char*, 7> kPartTitles{"weights of layers, packed",
                                                 "weights of layers that are kept",
                                                 "tables of tokens",
                                                 "tables of positions",
                                                 "normalisations",
                                                 "biases",
                                                 "other constants"};
using PartBytes = std::array<int64_t, kPartTitles.size()>;

struct Variant {
  std::string key, title, format;  // of the original: no format
  QuantizeOptions options;
};

// A model as it was written, and one run of it.
struct Account {
  Variant variant;
  PartBytes stored{};
  int64_t packed_before = 0, packed_after = 0;  // bytes of the tensors that change
  double promised = 0;                          // share of their bytes that the format saves
  ProbeResult run;

  int64_t all_stored() const {
    int64_t total = 0;
    for (int64_t bytes : stored) total += bytes;
    return total;
  }
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

Part part_of(const Graph& graph, ValueId weight, bool changed) {
  for (const Graph::Use& use : graph.uses(weight)) {
    const Node& node = graph.node(use.node);
    const OpDef* const op = node.op;
    if (op == &gather_def) return reads_an_input(graph, node.operands[1]) ? Part::tables : Part::position_tables;
    const OperandSpec& spec = op->operands.of(static_cast<size_t>(use.operand));
    if (spec.bias) return Part::biases;
    if (spec.weight) return changed ? Part::packed_layers : Part::kept_layers;
    if (std::string_view(op->name).ends_with("_norm")) return Part::norms;
  }
  return Part::others;
}

std::vector<Variant> variants(const MemoryOptions& options, const Graph& graph) {
  const bool has_tables = std::ranges::any_of(graph.nodes(gather_def), [&](NodeId n) {
    const Tensor* table = graph.constant(graph.operand(n, 0));
    return table && is_float(table->dtype()) && table->shape().size() == 2;
  });
  std::vector<Variant> all;
  for (const std::string& format : options.to) {
    QuantizeOptions layers{{.to = format, .rule = {}, .skip = options.skip, .activations = {}}};
    if (!has_tables) {
      all.push_back({format, format, format, layers});
      continue;
    }
    layers.rule = {"op:gather=keep"};
    all.push_back({format + "_layers", format + ", layers", format, layers});
    layers.rule.clear();
    all.push_back({format + "_and_tables", format + ", layers and tables", format, layers});
  }
  return all;
}

// From its second process on: the first one leaves the machine code.
ProbeResult probed(const MemoryOptions& options, const std::string& file, const std::string& cache) {
  ProbeOptions probe{.model = file,
                     .inputs = file == options.model ? options.inputs : std::vector<std::string>{},
                     .text = std::nullopt,
                     .shapes = options.shapes,
                     .session = options.session};
  probe.session.cache_folder = cache;
  probe_in_new_process(options.program, probe);
  return probe_in_new_process(options.program, probe);
}

void add_tensors(Account& account, const QuantizedModel& model) {
  double promised_bytes = 0;
  for (const QuantizedTensor& tensor : model.tensors) {
    const bool changed = tensor.choice.before != tensor.choice.after;
    const PlacedConstant stored = find_labelled(model.graph, tensor.choice.name);
    const Part part = part_of(*stored.graph, stored.id, changed);
    account.stored[static_cast<size_t>(part)] += tensor.bytes_after;
    if (!changed) continue;
    account.packed_before += tensor.bytes_before, account.packed_after += tensor.bytes_after;
    promised_bytes += static_cast<double>(tensor.elements) * nominal_bits(*tensor.choice.format) / 8;
  }
  account.stored[static_cast<size_t>(Part::others)] += sizes(model.graph).weight_bytes - account.all_stored();
  account.promised = 1 - promised_bytes / static_cast<double>(account.packed_before);
}

Account account_of(const MemoryOptions& options, const LoadedModel& source, const Variant& variant,
                   const ScratchFolder& folder) {
  Account account{.variant = variant, .run = {}};
  const std::string file = folder.path() + "/" + variant.key + ".safetensors";
  {
    const QuantizedModel model = quantize_model(source, variant.options, std::nullopt);
    add_tensors(account, model);
    if (account.packed_before == 0) fail("{}: nothing in it is packed as {}", source.path, variant.title);
    write_scratch_model(file, model.graph, source.files);
  }
  account.run = probed(options, file, folder.path() + "/cache");
  std::filesystem::remove(file);
  return account;
}

// The original, with the same tensors called packed layers as in `packed`.
Account original_account(const MemoryOptions& options, const LoadedModel& source, const Account& packed,
                         const ScratchFolder& folder) {
  Account account{.variant = {"original", source.name, "", {}}, .run = {}};
  account.stored = packed.stored;
  account.stored[static_cast<size_t>(Part::packed_layers)] += packed.packed_before - packed.packed_after;
  account.run = probed(options, options.model, folder.path() + "/cache");
  return account;
}

struct Item {
  const char* title;
  int64_t bytes;
};

// What the peak of a run consists of: each item counted by itself, and the rest.
std::vector<Item> items_of(const Account& account) {
  const ProbeResult& r = account.run;
  const auto stored = [&](Part part) { return account.stored[static_cast<size_t>(part)]; };
  const int64_t layers = stored(Part::packed_layers), kept = stored(Part::kept_layers);
  const int64_t in_files = r.resident_bytes - r.anonymous_bytes;
  const int64_t counted = r.prepacked_bytes + r.arena_bytes + r.scratch_bytes;
  return {
      {"weights of packed layers, laid out", layers},
      {"weights of kept layers, laid out", kept},
      {"padding of their panels", r.prepacked_bytes - layers - kept},
      {"pages read of tables, normalisations and biases", r.model_page_bytes},
      {"activations (arena)", r.arena_bytes},
      {"scratch of kernels", r.scratch_bytes},
      {"program and libraries (pages of their files)", in_files - r.model_page_bytes},
      {"rest: machine code, graph, inputs, ends of huge pages, what the allocator keeps", r.anonymous_bytes - counted},
      {"peak while loading, above what stays", r.peak_bytes - r.resident_bytes}};
}

int64_t limit_of(const ProbeResult& r) {
  const int64_t known = r.weight_bytes + r.arena_bytes;
  return known + std::max(r.largest_tensor_bytes, known / 10);
}

double saved(int64_t before, int64_t after) {
  return before > 0 ? 1 - static_cast<double>(after) / static_cast<double>(before) : 0;
}
Cell bytes_cell(int64_t bytes) { return number(static_cast<double>(bytes)); }
constexpr NumberStyle kBytes{NumberFormat::bytes, 3}, kPercent{NumberFormat::percent, 1};

Table memory_table(const std::vector<Account>& accounts) {
  Table table{.key = "memory",
              .title = "Memory",
              .columns = {{"model", "model"},
                          {"packed_before", "before packing", "", kBytes},
                          {"packed_after", "packed", "", kBytes},
                          {"promised", "saving in theory", "", kPercent},
                          {"packed_saving", "saving on them", "", kPercent},
                          {"weight_bytes", "all weights", "", kBytes},
                          {"weight_saving", "saving on all", "", kPercent},
                          {"peak_bytes", "peak running", "", kBytes},
                          {"peak_saving", "saving of peak", "", kPercent},
                          {"above_empty", "resident above empty", "", kBytes},
                          {"limit", "limit of it", "", kBytes}},
              .rows = {},
              .note =
                  "Peak: of a process of its own. Above empty: without what a process has before it opens a model; "
                  "its limit is the stored weights, the arena, and the larger of one tensor and 10 %.",
              .across = true};
  const Account& original = accounts[0];
  for (const Account& a : accounts) {
    const bool packed = a.packed_before > 0;
    table.rows.push_back(
        {a.variant.title, packed ? bytes_cell(a.packed_before) : Cell(), packed ? bytes_cell(a.packed_after) : Cell(),
         packed ? number(a.promised) : Cell(), packed ? number(saved(a.packed_before, a.packed_after)) : Cell(),
         bytes_cell(a.all_stored()), packed ? number(saved(original.all_stored(), a.all_stored())) : Cell(),
         bytes_cell(a.run.peak_bytes), packed ? number(saved(original.run.peak_bytes, a.run.peak_bytes)) : Cell(),
         bytes_cell(a.run.resident_bytes - a.run.empty_bytes), bytes_cell(limit_of(a.run))});
  }
  return table;
}

// A column of numbers per account from `first` on.
Table table_of_accounts(const char* key, const char* title, const std::vector<Account>& accounts, size_t first,
                        NumberStyle style) {
  Table table{.key = key, .title = title, .columns = {{"item", "item"}}, .rows = {}};
  for (size_t i = first; i < accounts.size(); ++i)
    table.columns.push_back({accounts[i].variant.key, accounts[i].variant.title, "", style});
  return table;
}

Table stored_table(const std::vector<Account>& accounts) {
  Table table = table_of_accounts("stored", "Weights as stored", accounts, 0, kBytes);
  for (size_t part = 0; part < kPartTitles.size(); ++part) {
    std::vector<Cell> row{kPartTitles[part]};
    for (const Account& a : accounts) row.push_back(bytes_cell(a.stored[part]));
    table.rows.push_back(std::move(row));
  }
  std::vector<Cell> sum{"all"};
  for (const Account& a : accounts) sum.push_back(bytes_cell(a.all_stored()));
  table.rows.push_back(std::move(sum));
  return table;
}

Table running_table(const std::vector<Account>& accounts) {
  Table table = table_of_accounts("running", "What the peak consists of", accounts, 0, kBytes);
  for (size_t i = 0; i < items_of(accounts[0]).size(); ++i) {
    std::vector<Cell> row{items_of(accounts[0])[i].title};
    for (const Account& a : accounts) row.push_back(bytes_cell(items_of(a)[i].bytes));
    table.rows.push_back(std::move(row));
  }
  std::vector<Cell> sum{"peak, measured"};
  for (const Account& a : accounts) sum.push_back(bytes_cell(a.run.peak_bytes));
  table.rows.push_back(std::move(sum));
  return table;
}

// If an item had shrunk as the format promises, it would be at (1 - promised) of what it was; what it is above that is
// missing.
Table missing_table(const std::vector<Account>& accounts) {
  Table table =
      table_of_accounts("missing", "What is missing from the promised saving, in percent of the original's peak",
                        accounts, 1, {NumberFormat::percent, 2});
  const std::vector<Item> before = items_of(accounts[0]);
  const auto peak = static_cast<double>(accounts[0].run.peak_bytes);
  for (size_t i = 0; i < before.size(); ++i) {
    std::vector<Cell> row{before[i].title};
    for (size_t a = 1; a < accounts.size(); ++a) {
      const double promised = (1 - accounts[a].promised) * static_cast<double>(before[i].bytes);
      row.push_back(number((static_cast<double>(items_of(accounts[a])[i].bytes) - promised) / peak));
    }
    table.rows.push_back(std::move(row));
  }
  std::vector<Cell> sum{"in theory less measured"};
  for (size_t a = 1; a < accounts.size(); ++a)
    sum.push_back(number(accounts[a].promised - saved(accounts[0].run.peak_bytes, accounts[a].run.peak_bytes)));
  table.rows.push_back(std::move(sum));
  table.note = "Items that do not depend on the weights' format are missing by what they would have shrunk, too.";
  return table;
}

// What the plan puts into the device's memory, item by item.
std::vector<Item> device_items(const ProbeResult& r) {
  return {{"weights, laid out", r.prepacked_bytes},
          {"weights and tables as they are", r.direct_weight_bytes},
          {"activations (arena)", r.arena_bytes},
          {"scratch of kernels", r.scratch_bytes},
          {"inputs and outputs", r.inputs_and_outputs_bytes}};
}

int64_t planned_on_device(const ProbeResult& r) {
  int64_t bytes = 0;
  for (const Item& item : device_items(r)) bytes += item.bytes;
  return bytes;
}

Table device_table(const std::vector<Account>& accounts) {
  Table table = table_of_accounts("device", "In the device's memory", accounts, 0, kBytes);
  const auto add = [&](const char* title, const auto& bytes) {
    std::vector<Cell> row{title};
    for (const Account& a : accounts) row.push_back(bytes_cell(bytes(a.run)));
    table.rows.push_back(std::move(row));
  };
  for (size_t i = 0; i < device_items(accounts[0].run).size(); ++i)
    add(device_items(accounts[0].run)[i].title, [&](const ProbeResult& r) { return device_items(r)[i].bytes; });
  add("planned", planned_on_device);
  add("as its driver counts", [](const ProbeResult& r) { return r.device_bytes; });
  table.note = "Beside what the driver takes for itself before a model is opened.";
  return table;
}

std::string device_finding(const Account& original, const Account& a) {
  return fmt::format("{}: {} planned in the device's memory, {} as its driver counts; {} of the original's saved",
                     a.variant.title, human_bytes(static_cast<double>(planned_on_device(a.run))),
                     human_bytes(static_cast<double>(a.run.device_bytes)),
                     number_text(saved(planned_on_device(original.run), planned_on_device(a.run)), kPercent));
}

std::string finding(const Account& original, const Account& a) {
  const int64_t above = a.run.resident_bytes - a.run.empty_bytes, limit = limit_of(a.run);
  const auto percent = [](double share) { return number_text(share, kPercent); };
  return fmt::format(
      "{}: {} saved on the packed tensors ({} in theory), {} on all weights, {} of the peak while running; resident "
      "above an empty process: {}, {} the limit of {}",
      a.variant.title, percent(saved(a.packed_before, a.packed_after)), percent(a.promised),
      percent(saved(original.all_stored(), a.all_stored())), percent(saved(original.run.peak_bytes, a.run.peak_bytes)),
      human_bytes(static_cast<double>(above)), above <= limit ? "within" : "ABOVE",
      human_bytes(static_cast<double>(limit)));
}

}  // namespace

Record memory(const MemoryOptions& options) {
  if (options.to.empty()) fail("no format to compare with; give --to, e.g. --to mxint8");
  const ScratchFolder folder;
  std::vector<Account> accounts(1);
  Record record{.title = "", .command = options.command, .findings = {}, .sections = {}, .machine = {}, .manifest = {}};
  {
    const LoadedModel source = load_model(options.model, options.inputs);
    bind_symbols(source.graph, options.shapes);  // what does not fit is refused before the work
    for (const Variant& variant : variants(options, canonicalise(source.graph))) {
      tell(options.progress, variant.title);
      accounts.push_back(account_of(options, source, variant, folder));
    }
    tell(options.progress, source.name);
    accounts[0] = original_account(options, source, accounts[1], folder);
    record.title = fmt::format("{}: memory", source.name);
    record.manifest.push_back({"input", source.path, source.sha256(), source.file_bytes});
  }
  for (size_t i = 1; i < accounts.size(); ++i) record.findings.push_back(finding(accounts[0], accounts[i]));
  record.sections = {{"Memory", {memory_table(accounts)}},
                     {"Account", {stored_table(accounts), running_table(accounts), missing_table(accounts)}}};
  if (options.session.device && options.session.device->free_bytes()) {
    for (size_t i = 1; i < accounts.size(); ++i) record.findings.push_back(device_finding(accounts[0], accounts[i]));
    record.sections.push_back({"Device", {device_table(accounts)}});
    for (const std::string& note : options.session.device->notes()) record.findings.push_back(note);
  }
  record.machine = describe(environment());
  return record;
}

}  // namespace hone
