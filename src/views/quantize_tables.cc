#include "views/quantize_tables.h"

#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>

#include "passes/pipelines.h"

namespace hone {
namespace {

const NumberStyle kCount{NumberFormat::integer, 0}, kBytes{NumberFormat::bytes, 3};

// Nothing for tensors that are kept, or that hold NaN where they did not.
Cell sqnr_cell(const std::optional<double>& sqnr_db) {
  if (!sqnr_db || std::isnan(*sqnr_db)) return {};
  return std::isinf(*sqnr_db) ? Cell("exact") : number(*sqnr_db);
}

Table tensor_table(const QuantizedModel& quantized, Listed listed) {
  Table table{.key = "tensors",
              .title = "Tensors",
              .columns = {{"name", "tensor"},
                          {"shape", "shape"},
                          {"before", "before"},
                          {"after", "after"},
                          {"sqnr_db", "SQNR", "dB", {NumberFormat::fixed, 1}},
                          {"bytes_before", "before", "", kBytes},
                          {"bytes_after", "after", "", kBytes},
                          {"rule", "decided by"}},
              .rows = {}};
  int64_t kept = 0, kept_bytes = 0;
  for (const QuantizedTensor& t : quantized.tensors) {
    if (listed == Listed::changed && t.choice.before == t.choice.after) {
      ++kept, kept_bytes += t.bytes_after;
      continue;
    }
    table.rows.push_back({t.choice.name, fmt::format("[{}]", fmt::join(t.choice.shape, ",")), t.choice.before,
                          t.choice.after, sqnr_cell(t.sqnr_db), number(static_cast<double>(t.bytes_before)),
                          number(static_cast<double>(t.bytes_after)), t.choice.decided_by});
  }
  if (kept > 0)
    table.note =
        fmt::format("{} more tensors ({} bytes) stay as they are; `hone quantize` lists them.", kept, kept_bytes);
  return table;
}

// Of the products that read rounded values: how many the compiled model multiplies as integers.
std::string integer_note(const Graph& graph) {
  const auto is_product = [](const Node& node) {
    const std::string_view name = node.op->name;
    return name == "linear" || name == "conv" || name == "matmul" || name == "attention";
  };
  int64_t rounded = 0, integers = 0;
  for (NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    rounded += is_product(node) && std::ranges::any_of(node.operands, [&](ValueId v) {
                 return v != kNone && graph.producer(v) != kNone &&
                        graph.node(graph.producer(v)).op->name == std::string_view("fake_quant");
               });
  }
  if (rounded == 0) return "";
  const Graph prepared = prepare_for_codegen(graph, stored_compute(graph));
  for (NodeId id : prepared.nodes()) {
    const Node& node = prepared.node(id);
    integers += node.op->name == std::string_view("block_linear") ||
                (is_product(node) && is_integer(prepared.type(node.results[0]).dtype));
  }
  return fmt::format(" {} of {} products of such inputs are of integers, the others are simulated.",
                     std::min(integers, rounded), rounded);
}

Table activation_table(const QuantizedModel& quantized) {
  Table table{.key = "activations",
              .title = "Inputs of layers",
              .columns = {{"name", "input"},
                          {"shape", "shape"},
                          {"before", "before"},
                          {"after", "after"},
                          {"rule", "decided by"}},
              .rows = {},
              .note = "Rounded as the model runs; nothing of them is stored." + integer_note(quantized.graph)};
  for (size_t i = 0; i < quantized.activations.size(); ++i) {
    const QuantizeChoice& c = quantized.activations[i];
    table.rows.push_back({c.name, to_string(quantized.activation_shapes[i]), c.before, c.after, c.decided_by});
  }
  return table;
}

Table count_table(const QuantizedModel& quantized) {
  Table table{.key = "counts",
              .title = "Values that the formats can't hold",
              .columns = {{"name", "tensor"},
                          {"format", "format"},
                          {"nan", "NaN", "", kCount},
                          {"inf", "infinite", "", kCount},
                          {"saturated", "beyond the range", "", kCount},
                          {"flushed_to_zero", "rounded to 0", "", kCount}},
              .rows = {},
              .note = "By rounding to nearest."};
  int64_t nonfinite = 0;
  const auto count = [](int64_t n) { return number(static_cast<double>(n)); };
  for (const QuantizedTensor& t : quantized.tensors) {
    const EncodeCounts& c = t.counts;
    if (c.nan + c.inf + c.saturated + c.flushed_to_zero == 0) continue;
    nonfinite += c.nan + c.inf;
    table.rows.push_back(
        {t.choice.name, t.choice.after, count(c.nan), count(c.inf), count(c.saturated), count(c.flushed_to_zero)});
  }
  if (nonfinite > 0) table.note += fmt::format(" NaN and infinities: on-nonfinite {}.", quantized.on_nonfinite);
  return table;
}

double average_bits(const Sizes& stored, const Sizes& model) {
  return model.parameters ? 8.0 * static_cast<double>(stored.weight_bytes) / static_cast<double>(model.parameters) : 0;
}

KeyValues totals(const QuantizedModel& q) {
  const NumberStyle bits{NumberFormat::fixed, 3};
  const auto before = static_cast<double>(q.before.weight_bytes), after = static_cast<double>(q.after.weight_bytes);
  KeyValues totals{
      .key = "totals",
      .title = "Totals",
      .items = {
          {"elements", "elements", number(static_cast<double>(q.before.parameters)), "", kCount},
          {"bytes_before", "bytes before", number(before), "", kCount},
          {"bytes_after", "bytes after", number(after), "", kCount},
          {"ratio", "after / before", number(before > 0 ? after / before : 1), "", {NumberFormat::percent, 2}},
          {"average_bits", "average bits per weight, as stored", number(average_bits(q.after, q.before)), "", bits}}};
  if (q.input_bits)
    totals.items.push_back({"data_average_bits",
                            fmt::format("average bits per input of a layer ({})", q.input_bits->shapes),
                            number(q.input_bits->after), "", bits});
  return totals;
}

std::string overridden_rules(const QuantizedModel& quantized) {
  std::string text;
  const auto add = [&](const QuantizeChoice& choice) {
    if (!choice.overridden.empty())
      text += fmt::format("{}{}: {} overrides {}", text.empty() ? "" : "\n", choice.name, choice.decided_by,
                          fmt::join(choice.overridden, ", "));
  };
  for (const QuantizedTensor& t : quantized.tensors) add(t.choice);
  for (const QuantizeChoice& choice : quantized.activations) add(choice);
  return text;
}

}  // namespace

std::vector<Block> describe(const QuantizedModel& quantized, Listed listed) {
  std::vector<Block> blocks{tensor_table(quantized, listed)};
  if (quantized.input_bits) blocks.push_back(activation_table(quantized));
  if (Table counts = count_table(quantized); !counts.rows.empty()) blocks.push_back(std::move(counts));
  blocks.push_back(totals(quantized));
  if (const std::string text = overridden_rules(quantized); !text.empty())
    blocks.push_back(Text{"Matched by several rules, the last one decides:\n" + text});
  return blocks;
}

}  // namespace hone
