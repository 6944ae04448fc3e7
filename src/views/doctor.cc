#include "views/doctor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hone {
namespace {

const NumberStyle kCount{NumberFormat::integer, 0}, kBytes{NumberFormat::bytes, 3}, kPercent{NumberFormat::percent, 1};

Cell count(int64_t n) { return number(static_cast<double>(n)); }

Table unsupported_table(const Diagnosis& diagnosis) {
  Table table{.key = "unsupported",
              .title = "Nodes that are not supported",
              .columns = {{"node", "node"}, {"operator", "operator"}, {"reason", "reason"}}};
  for (const UnsupportedNode& node : diagnosis.unsupported)
    table.rows.push_back({node.node, node.op_type, node.reason});
  return table;
}

Table elsewhere_table(const char* key, const char* title, bool copies, const std::vector<StepsElsewhere>& all) {
  Table table{.key = key,
              .title = title,
              .columns = {{"op", "op"}, {"nodes", "nodes", "", kCount}, {"share", "share of FLOP", "", kPercent}}};
  if (copies) table.columns.push_back({"copied", "copied", "", kBytes});
  table.columns.push_back({"reason", "why"});
  for (const StepsElsewhere& steps : all) {
    std::vector<Cell> row{steps.ops, count(steps.nodes), number(steps.flop_share)};
    if (copies) row.push_back(count(steps.copied_bytes));
    row.push_back(steps.why);
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table parameters_table(const std::vector<ExaminedParameter>& parameters) {
  Table table{.key = "parameters",
              .title = "Parameters",
              .columns = {{"name", "name"},
                          {"shape", "shape"},
                          {"numbers", "numbers", "", kCount},
                          {"role", "read as"},
                          {"trained", "trained"}}};
  for (const ExaminedParameter& p : parameters)
    table.rows.push_back({p.name, fmt::format("[{}]", fmt::join(p.shape, ",")), count(element_count(p.shape)),
                          p.role == ParameterRole::none ? Cell() : Cell(std::string(to_string(p.role))),
                          p.why_not.empty() ? std::string("yes") : "no: " + p.why_not});
  return table;
}

Table untrainable_table(const std::vector<UntrainableOp>& ops) {
  Table table{.key = "untrainable",
              .title = "What gives no gradient",
              .columns = {{"op", "op"}, {"nodes", "nodes", "", kCount}, {"reason", "why"}}};
  for (const UntrainableOp& op : ops) table.rows.push_back({op.op, count(op.nodes), op.why});
  return table;
}

Table formats_table(const Diagnosis& diagnosis) {
  const auto now = static_cast<double>(diagnosis.weight_bytes);
  Table table{.key = "formats",
              .title = "Predicted size of the weights",
              .columns = {{"format", "format"},
                          {"tensors", "packed tensors", "", kCount},
                          {"bytes", "bytes", "", kBytes},
                          {"share", "of now", "", kPercent}}};
  table.rows.push_back({std::string("now"), Cell(), number(now), number(1)});
  for (const PredictedSize& each : diagnosis.formats)
    if (each.fault.empty())
      table.rows.push_back({each.format, count(each.tensors), count(each.bytes),
                            number(now > 0 ? static_cast<double>(each.bytes) / now : 0)});
  return table;
}

KeyValues memory_block(const Diagnosis& diagnosis) {
  const auto bytes = [](const char* key, const char* title, int64_t value) {
    return KeyValue{key, title, count(value), "", kBytes};
  };
  KeyValues block{.key = "memory",
                  .title = "Memory and disk",
                  .items = {bytes("weights_bytes", "weights", diagnosis.weight_bytes)}};
  if (diagnosis.run.memory) {
    const PredictedMemory& run = *diagnosis.run.memory;
    block.items.insert(block.items.end(), {bytes("opened_bytes", "hone with the model opened", run.opened),
                                           bytes("panel_bytes", "weights laid out for kernels", run.panels),
                                           bytes("weight_page_bytes", "pages of weights as stored", run.weight_pages),
                                           bytes("arena_bytes", "activations (arena)", run.arena),
                                           bytes("scratch_bytes", "scratch of kernels", run.scratch),
                                           bytes("value_bytes", "inputs, outputs, interpreted values", run.values),
                                           bytes("code_bytes", "making machine code", run.code),
                                           bytes("needed_bytes", "a run needs at most", run.total())});
  }
  block.items.push_back(bytes("machine_bytes", "the machine has", diagnosis.machine_bytes));
  if (diagnosis.disk_bytes) block.items.push_back(bytes("disk_bytes", "free on disk", *diagnosis.disk_bytes));
  return block;
}

KeyValues speed_block(const PredictedSpeed& speed) {
  const NumberStyle style{NumberFormat::significant, 3};
  return {.key = "speed",
          .title = "Predicted time of one run, on one thread of this machine when it is idle",
          .items = {{"low_ms", "at least", number(speed.low_ms), "ms", style},
                    {"high_ms", "at most", number(speed.high_ms), "ms", style}}};
}

std::string headline(const Diagnosis& diagnosis) {
  const int64_t problems = diagnosis.problems();
  const std::string found =
      problems == 0 ? "No problem" : fmt::format("{} problem{}", problems, problems == 1 ? "" : "s");
  return fmt::format("{} found{}. Examined in {:.2f} s.", found,
                     diagnosis.count(Severity::unexamined) == 0 ? "" : " in what was examined, which is not all",
                     diagnosis.seconds);
}

}  // namespace

Record view_of(const Diagnosis& diagnosis) {
  Record record{.title = diagnosis.path, .findings = {headline(diagnosis)}, .sections = {{"Diagnosis", {}}}};
  for (const Finding& each : diagnosis.findings)
    record.findings.push_back(fmt::format("{}: {}.{}{}", to_string(each.severity), each.what,
                                          each.advice.empty() ? "" : " Advice: ", each.advice));
  std::vector<Block>& blocks = record.sections[0].blocks;
  const ExaminedRun& run = diagnosis.run;
  if (!diagnosis.unsupported.empty()) blocks.emplace_back(unsupported_table(diagnosis));
  if (!run.interpreted.empty())
    blocks.emplace_back(elsewhere_table("interpreted", "What will be interpreted", false, run.interpreted));
  if (!run.on_host.empty())
    blocks.emplace_back(elsewhere_table("on_host", "What will run on the host", true, run.on_host));
  if (!diagnosis.training.parameters.empty()) blocks.emplace_back(parameters_table(diagnosis.training.parameters));
  if (!diagnosis.training.untrainable.empty()) blocks.emplace_back(untrainable_table(diagnosis.training.untrainable));
  blocks.emplace_back(formats_table(diagnosis));
  if (run.speed) blocks.emplace_back(speed_block(*run.speed));
  blocks.emplace_back(memory_block(diagnosis));
  return record;
}

}  // namespace hone
