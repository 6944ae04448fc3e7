#include "views/memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/number_text.h"
#include "views/conditions.h"

namespace hone {
namespace {

constexpr std::array<const char*, kWeightParts> kPartTitles{"weights of layers, packed",
                                                            "weights of layers that are kept",
                                                            "tables of tokens",
                                                            "tables of positions",
                                                            "normalisations",
                                                            "biases",
                                                            "other constants"};

struct Item {
  const char* title;
  int64_t bytes;
};

// What the peak of a run consists of: each item counted by itself, and the rest.
std::vector<Item> items_of(const MemoryAccount& account) {
  const ProbeResult& r = *account.run;
  const int64_t layers = account.stored_in(WeightPart::packed_layers),
                kept = account.stored_in(WeightPart::kept_layers);
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

Table memory_table(const std::vector<MemoryAccount>& accounts) {
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
  const MemoryAccount& original = accounts[0];
  for (const MemoryAccount& a : accounts) {
    const bool packed = a.packed_before > 0;
    table.rows.push_back(
        {a.title, packed ? bytes_cell(a.packed_before) : Cell(), packed ? bytes_cell(a.packed_after) : Cell(),
         packed ? number(a.promised) : Cell(), packed ? number(saved(a.packed_before, a.packed_after)) : Cell(),
         bytes_cell(a.all_stored()), packed ? number(saved(original.all_stored(), a.all_stored())) : Cell(),
         bytes_cell(a.run->peak_bytes), packed ? number(saved(original.run->peak_bytes, a.run->peak_bytes)) : Cell(),
         bytes_cell(a.run->resident_bytes - a.run->empty_bytes), bytes_cell(limit_of(*a.run))});
  }
  return table;
}

// A column of numbers per account from `first` on.
Table table_of_accounts(const char* key, const char* title, const std::vector<MemoryAccount>& accounts, size_t first,
                        NumberStyle style) {
  Table table{.key = key, .title = title, .columns = {{"item", "item"}}, .rows = {}};
  for (size_t i = first; i < accounts.size(); ++i)
    table.columns.push_back({accounts[i].key, accounts[i].title, "", style});
  return table;
}

Table stored_table(const std::vector<MemoryAccount>& accounts) {
  Table table = table_of_accounts("stored", "Weights as stored", accounts, 0, kBytes);
  for (size_t part = 0; part < kPartTitles.size(); ++part) {
    std::vector<Cell> row{kPartTitles[part]};
    for (const MemoryAccount& a : accounts) row.push_back(bytes_cell(a.stored[part]));
    table.rows.push_back(std::move(row));
  }
  std::vector<Cell> sum{"all"};
  for (const MemoryAccount& a : accounts) sum.push_back(bytes_cell(a.all_stored()));
  table.rows.push_back(std::move(sum));
  return table;
}

Table running_table(const std::vector<MemoryAccount>& accounts) {
  Table table = table_of_accounts("running", "What the peak consists of", accounts, 0, kBytes);
  for (size_t i = 0; i < items_of(accounts[0]).size(); ++i) {
    std::vector<Cell> row{items_of(accounts[0])[i].title};
    for (const MemoryAccount& a : accounts) row.push_back(bytes_cell(items_of(a)[i].bytes));
    table.rows.push_back(std::move(row));
  }
  std::vector<Cell> sum{"peak, measured"};
  for (const MemoryAccount& a : accounts) sum.push_back(bytes_cell(a.run->peak_bytes));
  table.rows.push_back(std::move(sum));
  return table;
}

// If an item had shrunk as the format promises, it would be at (1 - promised) of what it was; what it is above that is
// missing.
Table missing_table(const std::vector<MemoryAccount>& accounts) {
  Table table =
      table_of_accounts("missing", "What is missing from the promised saving, in percent of the original's peak",
                        accounts, 1, {NumberFormat::percent, 2});
  const std::vector<Item> before = items_of(accounts[0]);
  const auto peak = static_cast<double>(accounts[0].run->peak_bytes);
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
    sum.push_back(number(accounts[a].promised - saved(accounts[0].run->peak_bytes, accounts[a].run->peak_bytes)));
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

Table device_table(const std::vector<MemoryAccount>& accounts) {
  Table table = table_of_accounts("device", "In the device's memory", accounts, 0, kBytes);
  const auto add = [&](const char* title, const auto& bytes) {
    std::vector<Cell> row{title};
    for (const MemoryAccount& a : accounts) row.push_back(bytes_cell(bytes(*a.run)));
    table.rows.push_back(std::move(row));
  };
  for (size_t i = 0; i < device_items(*accounts[0].run).size(); ++i)
    add(device_items(*accounts[0].run)[i].title, [&](const ProbeResult& r) { return device_items(r)[i].bytes; });
  add("planned", planned_on_device);
  add("as its driver counts", [](const ProbeResult& r) { return r.device_bytes; });
  table.note = "Beside what the driver takes for itself before a model is opened.";
  return table;
}

std::string device_finding(const MemoryAccount& original, const MemoryAccount& a) {
  return fmt::format("{}: {} planned in the device's memory, {} as its driver counts; {} of the original's saved",
                     a.title, human_bytes(static_cast<double>(planned_on_device(*a.run))),
                     human_bytes(static_cast<double>(a.run->device_bytes)),
                     number_text(saved(planned_on_device(*original.run), planned_on_device(*a.run)), kPercent));
}

std::string finding(const MemoryAccount& original, const MemoryAccount& a) {
  const int64_t above = a.run->resident_bytes - a.run->empty_bytes, limit = limit_of(*a.run);
  const auto percent = [](double share) { return number_text(share, kPercent); };
  return fmt::format(
      "{}: {} saved on the packed tensors ({} in theory), {} on all weights, {} of the peak while running; resident "
      "above an empty process: {}, {} the limit of {}",
      a.title, percent(saved(a.packed_before, a.packed_after)), percent(a.promised),
      percent(saved(original.all_stored(), a.all_stored())),
      percent(saved(original.run->peak_bytes, a.run->peak_bytes)), human_bytes(static_cast<double>(above)),
      above <= limit ? "within" : "ABOVE", human_bytes(static_cast<double>(limit)));
}

}  // namespace

Record view_of(const MemoryResult& result) {
  const std::vector<MemoryAccount>& accounts = result.accounts;
  Record record{.title = fmt::format("{}: memory", result.name),
                .machine = describe(result.environment),
                .manifest = {input_entry(result.file)}};
  if (!accounts[0].run) {
    record.findings = {"Nothing was run, so only what is stored is known"};
    record.sections = {{"Account", {stored_table(accounts)}}};
    return record;
  }
  for (size_t i = 1; i < accounts.size(); ++i) record.findings.push_back(finding(accounts[0], accounts[i]));
  record.sections = {{"Memory", {memory_table(accounts)}},
                     {"Account", {stored_table(accounts), running_table(accounts), missing_table(accounts)}}};
  if (!result.on_device) return record;
  for (size_t i = 1; i < accounts.size(); ++i) record.findings.push_back(device_finding(accounts[0], accounts[i]));
  record.sections.push_back({"Device", {device_table(accounts)}});
  record.findings.insert(record.findings.end(), result.notes.begin(), result.notes.end());
  return record;
}

}  // namespace hone
