#include "views/info.h"

#include <fmt/ranges.h>

#include "base/text.h"

namespace hone {
namespace {

const NumberStyle kCount{NumberFormat::integer, 0}, kBytes{NumberFormat::bytes, 3};

Cell count(int64_t n) { return number(static_cast<double>(n)); }

Cell bits(int64_t bytes, int64_t elements) {
  return number(elements ? 8.0 * static_cast<double>(bytes) / static_cast<double>(elements) : 0);
}

Table ports_table(const InfoResult& info) {
  Table table{.key = "ports",
              .title = "Inputs and outputs",
              .columns = {{"name", "name"}, {"direction", "direction"}, {"type", "type"}}};
  for (const PortInfo& port : info.ports) table.rows.push_back({port.name, port.direction, port.type});
  return table;
}

Table formats_table(const InfoResult& info) {
  Table table{.key = "formats",
              .title = "Constants by format",
              .columns = {{"format", "format"},
                          {"tensors", "tensors", "", kCount},
                          {"elements", "elements", "", kCount},
                          {"bytes", "bytes", "", kBytes},
                          {"bits", "bits per element", "", {NumberFormat::fixed, 3}}}};
  for (const FormatInfo& f : info.formats)
    table.rows.push_back({f.format, count(f.tensors), count(f.elements), count(f.bytes), bits(f.bytes, f.elements)});
  return table;
}

Table ops_table(const InfoResult& info) {
  Table table{.key = "ops",
              .title = "Ops",
              .columns = {{"op", "op"},
                          {"nodes", "nodes", "", kCount},
                          {"mflop", "MFLOP", "", {NumberFormat::significant, 4}},
                          {"share", "share of FLOP", "", {NumberFormat::percent, 1}}}};
  for (const OpInfo& op : info.ops) {
    if (op.flops)
      table.rows.push_back(
          {op.name, count(op.nodes), number(*op.flops * 1e-6), number(*info.flops > 0 ? *op.flops / *info.flops : 0)});
    else table.rows.push_back({op.name, count(op.nodes), {}, {}});
  }
  return table;
}

std::string stored_text(const std::optional<SparseInfo>& sparse) {
  if (!sparse) return "whole";
  return fmt::format("{} tensors as a bitmap and values: {} instead of {}", sparse->tensors,
                     human_bytes(static_cast<double>(sparse->stored)), human_bytes(static_cast<double>(sparse->whole)));
}

std::string sizes_text(const Bindings& sizes) {
  std::string text;
  for (const auto& [symbol, size] : sizes) text += fmt::format("{}{}={}", text.empty() ? "" : ", ", symbol, size);
  return text;
}

KeyValues summary_of(const InfoResult& info) {
  const std::string at = sizes_text(info.sizes);
  return {.key = "summary",
          .title = info.path,
          .items = {{"parameters", "parameters", count(info.parameters), "", kCount},
                    {"weight_bytes", "weights in memory", count(info.weight_bytes), "", kBytes},
                    {"file_bytes", "weights in files", count(info.file_bytes), "", kBytes},
                    {"average_bits",
                     "average bits per parameter",
                     bits(info.weight_bytes, info.parameters),
                     "",
                     {NumberFormat::fixed, 2}},
                    {"store", "weights are stored", stored_text(info.sparse)},
                    {"compute", "compute", std::string(to_string(info.compute))},
                    {"nodes", "nodes", count(info.nodes), "", kCount},
                    {"mflop",
                     at.empty() ? "MFLOP of one run" : fmt::format("MFLOP of one run at {}", at),
                     info.flops ? number(*info.flops * 1e-6) : Cell(),
                     "",
                     {NumberFormat::significant, 5}}}};
}

}  // namespace

Record view_of(const InfoResult& info) {
  Record record{.title = info.name,
                .sections = {{"Model", {summary_of(info), ports_table(info), formats_table(info), ops_table(info)}}}};
  std::vector<Block>& blocks = record.sections[0].blocks;
  if (!info.misfit.empty())
    blocks.push_back(Text{fmt::format(
        "No arithmetic is counted: the guessed {} do not fit: {}. Give sizes with --batch, --seq or --dim NAME=SIZE.",
        sizes_text(info.sizes), info.misfit)});
  if (!info.widened.empty())
    blocks.push_back(
        Text{fmt::format("Types of the GGUF file that no format has, opened as a wider one: {}", info.widened)});
  if (!info.unused.empty())
    blocks.push_back(Text{fmt::format("Not used by the graph: {}", fmt::join(info.unused, ", "))});
  return record;
}

}  // namespace hone
