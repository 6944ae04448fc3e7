#include "views/machine.h"

#include <fmt/format.h>

#include "base/cpu.h"
#include "base/text.h"

namespace hone {
namespace {

constexpr NumberStyle kThree{NumberFormat::significant, 3};

Cell known(double value) { return value > 0 ? number(value) : Cell(); }

// Half of a cache is what fits beside everything else that uses it.
KeyValue read_row(const MachinePeaks& peaks, const char* key, const char* level, int64_t cache_bytes) {
  return {key, fmt::format("read from the {} cache ({})", level, human_bytes(static_cast<double>(cache_bytes))),
          cache_bytes > 0 ? known(peaks.read_gbytes(static_cast<double>(cache_bytes) / 2)) : Cell(), "GB/s", kThree};
}

Table reads_table(const MachinePeaks& peaks) {
  Table table{.key = "reads",
              .title = "Reading a range again and again, one thread",
              .columns = {{.key = "bytes", .title = "range", .style = {NumberFormat::bytes, 3}},
                          {.key = "gbytes", .title = "rate", .unit = "GB/s", .style = kThree}}};
  for (const MachinePeaks::Read& read : peaks.reads)
    table.rows.push_back({number(static_cast<double>(read.bytes)), number(read.gbytes)});
  return table;
}

// How many times as many products a unit does as f32 multiply-adds do; 0 where none was measured.
double measured_rate(const UnitRate& unit, const MachinePeaks& peaks) {
  return peaks.f32_gflops > 0 ? peaks.*unit.peak / peaks.f32_gflops : 0;
}

bool disagree(double hint, double measured) { return measured > 0 && (measured > 1.5 * hint || hint > 1.5 * measured); }

Table units_table(const UnitRates& rates, const MachinePeaks& peaks) {
  constexpr NumberStyle kTimes{NumberFormat::significant, 3};
  Table table{.key = "units",
              .title = fmt::format("Units for products, rates of the row \"{}\"", rates.source),
              .columns = {{.key = "instruction", .title = "instruction"},
                          {.key = "types", .title = "types"},
                          {.key = "products", .title = "products", .style = {NumberFormat::integer, 0}},
                          {.key = "rate", .title = "rate by the table", .unit = "×", .style = kTimes},
                          {.key = "measured", .title = "measured", .unit = "×", .style = kTimes}}};
  for (const UnitRate& unit : rates.units)
    table.rows.push_back({unit.name, unit.types, number(static_cast<double>(unit.products)), number(unit.rate),
                          known(measured_rate(unit, peaks))});
  return table;
}

std::vector<std::string> wrong_hints(const UnitRates& rates, const MachinePeaks& peaks) {
  std::vector<std::string> findings;
  for (const UnitRate& unit : rates.units)
    if (const double measured = measured_rate(unit, peaks); disagree(unit.rate, measured))
      findings.push_back(fmt::format(
          "{} does {:.2g} times the products of f32 multiply-adds; the table of microarchitectures says {:.2g} for "
          "\"{}\". Kernels are chosen by the table: right, but perhaps not those made for it. Please report it.",
          unit.name, measured, unit.rate, rates.source));
  return findings;
}

KeyValues pair_block(const CpuContention& pair) {
  return {.key = "pair",
          .title = "Two threads on two CPUs, now",
          .items = {{"pair", "together against alone", number(pair.ratio()), "", {NumberFormat::fixed, 2}},
                    {"alone_gflops", "one with the other idle", number((pair.alone[0] + pair.alone[1]) / 2), "GFLOP/s",
                     kThree},
                    {"together_gflops", "one beside the other", number((pair.together[0] + pair.together[1]) / 2),
                     "GFLOP/s", kThree}}};
}

// Of all of a device that has memory of its own, by its own kernels.
KeyValues rates_block(const MachinePeaks& peaks) {
  return {.key = "rates",
          .title = "Measured, by the device's own kernels",
          .items = {{"f32_gflops", "products in f32", known(peaks.f32_gflops), "GFLOP/s", kThree},
                    {"bf16_gflops", "products in bf16", known(peaks.bf16_gflops), "GFLOP/s", kThree},
                    {"copy_gbytes", "copies, both ways counted",
                     peaks.reads.empty() ? Cell() : known(peaks.reads.back().gbytes), "GB/s", kThree},
                    {"step_us", "a step that does nothing, replayed", known(peaks.fork_join_us), "µs", kThree}}};
}

Table copies_table(const MachinePeaks& peaks) {
  Table table = reads_table(peaks);
  table.key = "copies", table.title = "Copying a range, both ways counted";
  return table;
}

Record device_record(const MachineResult& machine) {
  return {.title = fmt::format("Device {}", machine.device),
          .findings = machine.notes,
          .sections = {{"Rates", {rates_block(machine.peaks), copies_table(machine.peaks)}}},
          .machine = describe(machine.environment)};
}

}  // namespace

KeyValues peaks_block(const MachinePeaks& peaks) {
  const CacheSizes caches = cache_sizes();
  return {.key = "peaks",
          .title = "Measured peaks, one thread",
          .items = {{"f32_gflops", "f32 multiply-adds", known(peaks.f32_gflops), "GFLOP/s", kThree},
                    {"bf16_gflops", "bf16 dot products", known(peaks.bf16_gflops), "GFLOP/s", kThree},
                    {"int8_gops", "int8 dot products", known(peaks.int8_gops), "GOP/s", kThree},
                    {"bf16_tile_gflops", "bf16 products of tiles", known(peaks.bf16_tile_gflops), "GFLOP/s", kThree},
                    {"int8_tile_gops", "int8 products of tiles", known(peaks.int8_tile_gops), "GOP/s", kThree},
                    read_row(peaks, "l1_read_gbytes", "first-level", caches.l1_bytes),
                    read_row(peaks, "l2_read_gbytes", "second-level", caches.l2_bytes),
                    read_row(peaks, "l3_read_gbytes", "third-level", caches.l3_bytes),
                    {"memory_read_gbytes", "read from main memory",
                     peaks.reads.empty() ? Cell() : known(peaks.reads.back().gbytes), "GB/s", kThree},
                    {"fork_join_us", "fork and join of two threads", known(peaks.fork_join_us), "µs", kThree}}};
}

Record view_of(const MachineResult& machine) {
  if (!machine.device.empty()) return device_record(machine);
  Record record{.title = "Machine",
                .sections = {{"Peaks", {peaks_block(machine.peaks), reads_table(machine.peaks)}}},
                .machine = describe(machine.environment)};
  std::vector<Block>& blocks = record.sections[0].blocks;
  if (machine.units) {
    blocks.push_back(units_table(*machine.units, machine.peaks));
    record.findings = wrong_hints(*machine.units, machine.peaks);
  }
  record.findings.insert(record.findings.end(), machine.notes.begin(), machine.notes.end());
  if (!machine.pair) return record;
  blocks.push_back(pair_block(*machine.pair));
  if (machine.pair->ratio() < 0.8)
    record.findings.push_back(fmt::format(
        "Two threads do {:.2f} times the work of one just now: the two CPUs share a core, or others use it.",
        2 * machine.pair->ratio()));
  return record;
}

}  // namespace hone
