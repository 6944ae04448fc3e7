// Lab 4: performance. What compiling costs and gives from the first call on, attention in one op, the bits of MXINT8,
// products with it, and where the memory of a packed model goes.
#include <cmath>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "base/error.h"
#include "io/mase/mxint8.h"
#include "labs/recipes.h"
#include "labs/registry.h"
#include "labs/said_numbers.h"

namespace hone {
namespace {

constexpr NumberStyle kTime{NumberFormat::significant, 4}, kCount{NumberFormat::integer, 0},
    kShare{NumberFormat::percent, 1}, kBytes{NumberFormat::bytes, 3}, kThree{NumberFormat::significant, 3};

std::vector<std::string> reads(const LabPlaces& places) { return {places.encoder()}; }

// Batches, and how many calls of each: means of 5 and 20 calls are read off them.
struct Batch {
  const char *size, *calls;
};
std::vector<Batch> batches(const LabPlaces& places) {
  if (places.quick) return {{"1", "40"}, {"2", "20"}};
  return {{"1", "100"}, {"64", "20"}, {"128", "20"}};
}

constexpr const char* kTypes[] = {"f32", "bf16"};

// MXINT8 weights with what they multiply in bf16, and in MXINT8.
struct Product {
  const char *name, *title;
};
constexpr Product kProducts[] = {{"bf16", "MXINT8 x bf16"}, {"mxint8", "MXINT8 x MXINT8"}};

std::string network(const LabPlaces& places) { return places.shared("performance") + ".safetensors"; }
std::string product_model(const LabPlaces& places, const std::string& name) {
  return places.made("mxint8-by-" + name) + ".safetensors";
}
std::string large_model(const LabPlaces& places) {
  return places.quick ? places.encoder() : places.shared("deberta-xlarge") + ".safetensors";
}

LabStep build_step(const std::string& name, const std::string& model, const std::string& output) {
  return {.name = name,
          .what = fmt::format("{} with random weights", model),
          .words = {"build", model, "-o", output, "--json"},
          .makes = {output},
          .is_shared = true};
}

std::vector<LabStep> call_steps(const LabPlaces& places) {
  std::vector<LabStep> steps{build_step("performance", places.quick ? "convnet" : "resnet18", network(places))};
  const std::string threads = places.quick ? "1" : "2";
  for (const auto& [size, calls] : batches(places))
    steps.push_back(
        {.name = fmt::format("calls-{}", size),
         .what = fmt::format("{} calls of batch {}", calls, size),
         .words = {"bench", network(places), "--calls", calls, "--batch", size, "--threads", threads, "--json"}});
  return steps;
}

std::vector<LabStep> attention_steps(const LabPlaces& places) {
  std::vector<LabStep> steps;
  for (const char* type : kTypes)
    steps.push_back({.name = fmt::format("attention-{}", type),
                     .what = fmt::format("attention in {}", type),
                     .words = {"bench", "--op", "attention", "--shape", places.quick ? "2,2,32,16" : "32,8,128,64",
                               "--type", type, "--seconds", places.quick ? "0.2" : "8", "--json"}});
  return steps;
}

std::vector<LabStep> product_steps(const LabPlaces& places) {
  const std::string bf16 = product_model(places, "bf16"), mxint8 = product_model(places, "mxint8");
  const std::string seconds = places.quick ? "0.2" : "10", batch = places.quick ? "1" : "8";
  std::vector<LabStep> steps{
      {.name = "weights",
       .what = "weights in MXINT8",
       .words = {"quantize", places.encoder(), "--to", "mxint8", "--compute", "bf16", "-o", bf16, "--json"},
       .makes = {bf16}},
      {.name = "both",
       .what = "weights and what they multiply in MXINT8",
       .words = {"quantize", places.encoder(), "--config", places.file("products.toml"), "-o", mxint8, "--json"},
       .makes = {mxint8}},
      {.name = "products",
       .what = "both beside each other",
       .words = {"bench", bf16, mxint8, "--batch", batch, "--seq", "32", "--seconds", seconds, "--no-probe",
                 "--json"}}};
  for (const Product& product : kProducts)
    steps.push_back({.name = fmt::format("steps-{}", product.name),
                     .what = fmt::format("where the time of {} goes", product.title),
                     .words = {"profile", product_model(places, product.name), "--batch", batch, "--seq", "32",
                               "--seconds", seconds, "--json"}});
  return steps;
}

std::vector<LabStep> memory_steps(const LabPlaces& places) {
  LabStep memory{.name = "memory",
                 .what = "its memory, as it is and packed",
                 .words = {"memory", large_model(places), "--to", "mxint8", "--seq", "9", "--json"}};
  if (places.quick) return {memory};
  memory.words.insert(memory.words.end(), {"--skip", "classifier"});
  return {build_step("deberta", "deberta-xlarge", large_model(places)), memory};
}

std::vector<LabStep> steps(const LabPlaces& places) {
  std::vector<LabStep> all;
  for (const auto& part : {call_steps(places), attention_steps(places), product_steps(places), memory_steps(places)})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

Table calls_table(const LabResults& results, const LabPlaces& places) {
  Table table{.key = "times_calls",
              .title = "Mean time of a call, read off one series",
              .columns = {{"batch", "batch"},
                          {"reading", "reading"},
                          {"uncompiled", "uncompiled", "ms", kTime},
                          {"compiled", "compiled", "ms", kTime},
                          {"ratio", "uncompiled / compiled", "", kThree}},
              .note =
                  "Uncompiled: each node has a kernel of its own (--no-fusion). Without warm-up a mean has the first "
                  "call in it; with warm-up ten calls are left out."};
  for (const Batch& batch : batches(places))
    for (const Json& row : results.rows(fmt::format("calls-{}", batch.size), "readings"))
      table.rows.push_back({std::string(batch.size), name_in(row, "reading"), number(figure(row, "uncompiled_ms")),
                            number(figure(row, "compiled_ms")), number(figure(row, "ratio"))});
  return table;
}

Table first_table(const LabResults& results, const LabPlaces& places) {
  Table table{.key = "times_first",
              .title = "Where the first call's time goes",
              .columns = {{"batch", "batch"},
                          {"part", "part"},
                          {"uncompiled", "uncompiled", "ms", kTime},
                          {"compiled", "compiled", "ms", kTime},
                          {"share", "share of compiled", "", kShare},
                          {"paid", "pays by call", "", kCount}},
              .note = "Nothing pays where later calls are not shown to take less."};
  for (const Batch& batch : batches(places)) {
    const Json& rows = results.rows(fmt::format("calls-{}", batch.size), "first");
    const double pays = figure(results.of(fmt::format("calls-{}", batch.size)).at("compiling"), "pays_after");
    const Cell paid = std::isnan(pays) ? Cell() : number(pays);
    for (const Json& row : rows) {
      const bool is_later = name_in(row, "part") == "a later call";
      table.rows.push_back({std::string(batch.size), name_in(row, "part"), number(figure(row, "uncompiled_ms")),
                            number(figure(row, "compiled_ms")), is_later ? Cell() : number(figure(row, "share")),
                            is_later ? paid : Cell()});
    }
  }
  return table;
}

LinePlot calls_plot(const LabResults& results, const Batch& batch) {
  LinePlot plot{.key = fmt::format("times_of_calls_{}", batch.size),
                .title = fmt::format("Time of each call, batch {}", batch.size),
                .x = {.title = "call"},
                .y = {.title = "time", .unit = "ms", .logarithmic = true}};
  for (const char* way : {"uncompiled", "compiled"}) {
    Line line{way, {}};
    for (const Json& row : results.rows(fmt::format("calls-{}", batch.size), "calls"))
      line.points.emplace_back(figure(row, "call"), figure(row, std::string(way) + "_ms"));
    plot.lines.push_back(std::move(line));
  }
  return plot;
}

Table attention_table(const LabResults& results) {
  Table table{.key = "times_attention",
              .title = "Attention, spelled out and as one op",
              .columns = {{"type", "type"},
                          {"form", "form"},
                          {"median", "median", "ms", kTime},
                          {"moved", "moved", "", kBytes},
                          {"scores", "scores kept", "", kBytes}}};
  for (const char* type : kTypes)
    for (const Json& row : results.rows(fmt::format("attention-{}", type), "results"))
      table.rows.push_back({type, name_in(row, "form"), measured(row, "median_ms"), number(figure(row, "bytes")),
                            number(figure(row, "scores_bytes"))});
  return table;
}

// As profilers of frameworks show it: a row for each kind of call.
struct OpTime {
  double calls = 0, ms = 0, share = 0, bytes = 0;
  void add(const Json& step) {
    ++calls;
    ms += figure(step, "ms"), share += figure(step, "share"), bytes += figure(step, "bytes");
  }
};

Table profile_table(const LabResults& results) {
  Table table{.key = "times_profile",
              .title = "Where the time of attention goes",
              .columns = {{"type", "type"},
                          {"form", "form"},
                          {"op", "op"},
                          {"calls", "calls", "", kCount},
                          {"self", "self", "ms", kThree},
                          {"average", "average", "ms", kThree},
                          {"share", "share", "", kShare},
                          {"moved", "moved", "", kBytes}}};
  for (const char* type : kTypes) {
    std::map<std::pair<std::string, std::string>, OpTime> ops;
    std::vector<std::pair<std::string, std::string>> order;
    for (const Json& step : results.rows(fmt::format("attention-{}", type), "steps")) {
      const std::pair key{name_in(step, "form"), name_in(step, "ops")};
      if (ops[key].calls == 0) order.push_back(key);
      ops[key].add(step);
    }
    for (const auto& key : order) {
      const OpTime& op = ops[key];
      table.rows.push_back({type, key.first, key.second, number(op.calls), number(op.ms), number(op.ms / op.calls),
                            number(op.share), number(op.bytes)});
    }
  }
  return table;
}

Table pairs_table(const Mxint8Pairs& pairs) {
  Table table{.key = "mxint8_pairs",
              .title = "The kernel's bits against mantissa / 64 · 2^(scale - 127)",
              .columns = {{"where", "pairs"},
                          {"count", "how many", "", kCount},
                          {"mantissa", "e.g. mantissa"},
                          {"scale", "and scale"},
                          {"kernel", "kernel"},
                          {"formula", "formula"}},
              .note =
                  "The magnitude of a mantissa has seven bits; its highest, bit 6, is the 1 that a bf16 leaves out. "
                  "Nothing that the kernel's own encoder writes is among the departures."};
  const auto row = [&](const char* where, int64_t count) {
    table.rows.push_back({where, number(static_cast<double>(count)), Cell(), Cell(), Cell(), Cell()});
  };
  row("all", pairs.pairs);
  row("the bits of mxint8.compat=mase-cuda", pairs.same_bits);
  row("the formula's value", pairs.by_formula);
  for (const Mxint8Departure& each : pairs.departures)
    table.rows.push_back({each.where, number(static_cast<double>(each.pairs)),
                          fmt::format("{}", static_cast<int>(static_cast<int8_t>(each.mantissa))),
                          fmt::format("{}", each.scale), fmt::format("{:.4g}", each.kernel),
                          fmt::format("{:.4g}", each.formula)});
  return table;
}

Table decoding_table() {
  Table table{.key = "mxint8_decoding",
              .title = "dont_need_abs and bias on values",
              .columns = {{"mantissa", "mantissa"},
                          {"scale", "scale"},
                          {"packed", "sign, exponent, fraction"},
                          {"dont_need_abs", "dont_need_abs"},
                          {"bias", "bias taken off"},
                          {"value", "value"}},
              .note =
                  "Bit 6 of the magnitude is the 1 that a bf16 leaves out. Where it is set the packed bits are the "
                  "value; where it is not they are too large by the bias, which is that 1 alone."};
  constexpr std::pair<int, int> kValues[] = {{64, 127},  {96, 127},   {32, 127},  {1, 127},
                                             {-32, 127}, {-127, 130}, {-128, 127}};
  for (const auto& [mantissa, scale] : kValues) {
    const Mxint8Decoding d = mxint8_decoding(static_cast<uint8_t>(mantissa), static_cast<uint8_t>(scale));
    table.rows.push_back({fmt::format("{}", mantissa), fmt::format("{}", scale),
                          fmt::format("{:b} {:08b} {:07b}", d.packed >> 15, d.packed >> 7 & 0xff, d.packed & 0x7f),
                          d.dont_need_abs ? "true" : "false",
                          d.dont_need_abs ? "-" : fmt::format("{}2^{}", d.sign != 0 ? "-" : "", scale - 127),
                          fmt::format("{}", d.value)});
  }
  return table;
}

Table tiling_table() {
  Table table{.key = "mxint8_tiles",
              .title = "How the kernel cuts 4,096 x 4,096 elements",
              .columns = {{"group", "group"},
                          {"tile", "cta_tiler"},
                          {"layout", "layout_sX"},
                          {"grid", "grid"},
                          {"shared", "shared memory", "", kBytes}},
              .note =
                  "1,024 threads a block, an element each: thread t has element t mod m of the group t div m of its "
                  "tile, m being the first size of cta_tiler."};
  for (const int64_t group : {8, 16, 32, 64, 128, 512}) {
    const Mxint8Tiling t = mxint8_tiling(group, int64_t{4096} * 4096 / group);
    table.rows.push_back({fmt::format("{}", group), fmt::format("{} x {}", t.tile_elements, t.tile_groups),
                          fmt::format("({},{}):(1,{})", t.tile_elements, t.tile_groups, t.tile_elements),
                          fmt::format("{} x {}", t.grid_x, t.grid_y), number(static_cast<double>(t.shared_bytes))});
  }
  return table;
}

Table product_table(const LabResults& results) {
  Table table{.key = "times_products",
              .title = "Products with MXINT8",
              .columns = {{"product", "product"},
                          {.key = "how", .title = "how", .prose = true},
                          {"median", "median", "ms", kTime},
                          {"weights", "weights", "", kBytes},
                          {"moved", "moved by products", "", kBytes},
                          {"mflop", "MFLOP of products", "", kTime},
                          {"self", "time in products", "ms", kThree}},
              .note = "The encoder, 32 tokens a text. Rounding what is multiplied is a step of its own."};
  const Json& timed = results.rows("products", "results");
  for (size_t i = 0; i < std::size(kProducts); ++i) {
    double moved = 0, mflop = 0, ms = 0;
    for (const Json& step : results.rows(fmt::format("steps-{}", kProducts[i].name), "steps"))
      if (name_in(step, "ops").find("linear") != std::string::npos)
        moved += figure(step, "bytes"), mflop += figure(step, "mflop"), ms += figure(step, "ms");
    table.rows.push_back({kProducts[i].title, i == 0 ? "codes become bf16 in registers" : "integers, block by block",
                          number(figure(timed.at(i), "median_ms")), number(figure(timed.at(i), "weight_bytes")),
                          number(moved), number(mflop), number(ms)});
  }
  return table;
}

// The share of f32 that a format of so many bits, with a scale of 8 bits for each 32, saves.
double saving(double bits) { return 1 - (bits + 8.0 / 32) / 32; }

Table saving_table(const LabResults& results) {
  Table table{
      .key = "saving",
      .title = "What packing to MXINT8 saves",
      .columns = {{"of", "of"}, {"saving", "saving", "", kShare}, {.key = "why", .title = "why", .prose = true}},
      .rows = {{"a formula with 4 bits", number(saving(4)), "(32 - (4 + 8/32)) / 32: MXINT8 has 8 bits, not 4"},
               {"the formula with 8 bits", number(saving(8)), "(32 - (8 + 8/32)) / 32: of each packed element"}}};
  const Json& models = results.rows("memory", "memory");
  if (models.size() < 2) fail("the result of memory has no packed model");
  const Json& row = models.at(1);
  table.rows.push_back(
      {"the packed weights", number(figure(row, "packed_saving")), "padding of rows is the difference"});
  table.rows.push_back({"all weights", number(figure(row, "weight_saving")), "tables, norms and biases stay f32"});
  table.rows.push_back({"peak memory, measured", number(figure(row, "peak_saving")),
                        "activations, program and what is kept beside the weights do not shrink"});
  return table;
}

Table missing_table(const LabResults& results) {
  Table table{.key = "missing",
              .title = "What is missing from the formula's saving, in shares of the original's peak",
              .columns = {{"item", "item"}, {"share", "share", "", {NumberFormat::percent, 2}}}};
  for (const Json& row : results.rows("memory", "missing")) {
    if (row.size() < 2) fail("the result of memory has a row without a packed model");
    const auto first_packed = std::next(row.begin());  // the layers alone; tables may follow
    table.rows.push_back({name_in(row, "item"), number(figure(row, first_packed.key()))});
  }
  return table;
}

std::vector<std::string> sentences(const std::vector<Table>& tables, const LabPlaces& places) {
  const auto& [calls, first, attention, pairs, products, savings] =
      std::tie(tables[0], tables[1], tables[2], tables[3], tables[4], tables[5]);
  const auto reading = [&](const char* name, const char* column) { return said(calls, {"1", name}, column); };
  const auto type = [&](const char* form, const char* column) { return said(attention, {"f32", form}, column); };
  const std::string code = "passes, plans and machine code", paid = said(first, {"1", "a later call"}, "paid");
  return {fmt::format(
              "At batch 1 the mean of 5 calls is {} ms compiled and {} ms uncompiled; after warm-up it is {} and {} "
              "ms: a mean that has the first call in it says what that costs.",
              reading("5 calls, without warm-up", "compiled"), reading("5 calls, without warm-up", "uncompiled"),
              reading("5 calls, with warm-up", "compiled"), reading("5 calls, with warm-up", "uncompiled")),
          fmt::format(
              "Of the compiled first call {} are passes, plans and machine code{}.", said(first, {"1", code}, "share"),
              paid == "-"   ? "; later calls are not shown to take less than uncompiled ones, which would pay for it"
              : paid == "1" ? "; it takes no longer than an uncompiled first call"
                            : fmt::format(", which later calls have paid for by call {}", paid)),
          fmt::format(
              "In f32, attention spelled out takes {} ms and moves {}, as one op {} ms and {}: scores of {} are never "
              "kept.",
              type("naive", "median"), type("naive", "moved"), type("fused", "median"), type("fused", "moved"),
              type("naive", "scores")),
          fmt::format(
              "{} of {} pairs have the bits of hone's format and {} the formula's value; {} are zeros for a mantissa "
              "of -128, and MXINT8 by MXINT8 moves {} in products, by bf16 {}.",
              said(pairs, {"the bits of mxint8.compat=mase-cuda"}, "count"), said(pairs, {"all"}, "count"),
              said(pairs, {"the formula's value"}, "count"), said(pairs, {"mantissa -128"}, "count"),
              said(products, {kProducts[1].title}, "moved"), said(products, {kProducts[0].title}, "moved")),
          fmt::format("The formula promises {} and not {}; {} of all weights are saved and {} of the {}'s peak.",
                      said(savings, {"the formula with 8 bits"}, "saving"),
                      said(savings, {"a formula with 4 bits"}, "saving"), said(savings, {"all weights"}, "saving"),
                      said(savings, {"peak memory, measured"}, "saving"), places.quick ? "encoder" : "model")};
}

LabShown show(const LabResults& results, const LabPlaces& places) {
  const Table calls = calls_table(results, places), first = first_table(results, places),
              attention = attention_table(results), pairs = pairs_table(compare_mxint8_pairs()),
              products = product_table(results), savings = saving_table(results);
  Section task1{.title = "Task 1: compiled and uncompiled", .blocks = {calls, first}};
  for (const Batch& batch : batches(places)) task1.blocks.emplace_back(calls_plot(results, batch));
  return {.sections = {task1,
                       {"Task 2: attention", {attention, profile_table(results)}},
                       {"Task 3: the bits of MXINT8", {pairs, decoding_table(), tiling_table()}},
                       {"Task 3: products with MXINT8", {products}},
                       {"Task 3: memory", {savings, missing_table(results)}}},
          .sentences = sentences({calls, first, attention, pairs, products, savings}, places)};
}

}  // namespace

extern constinit const LabDef lab4_def{
    .name = "4", .title = "Performance", .files = "lab4", .reads = reads, .steps = steps, .show = show};

}  // namespace hone
