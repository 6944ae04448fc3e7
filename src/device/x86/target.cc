#include "device/x86/target.h"

#include <algorithm>

#include "base/error.h"

namespace hone {
namespace {

// Rates measured by `hone machine`, or where no such CPU was at hand, from the throughput of the instructions that its
// maker states. Models are those of CPUID, the first row that fits counts; {0, 255} stands for the rest of a family.
struct Row {
  std::string_view vendor;
  int family, first_model, last_model;
  Microarchitecture rates;
};
constexpr Microarchitecture with_tiles(std::string_view name) {
  return {.name = name, .bf16 = 0.5, .int8 = 4, .amx_bf16 = 12, .amx_int8 = 24, .codes_ahead = 8192};
}
constexpr Row kRows[] = {
    {"AuthenticAMD", 0x19, 0x10, 0x1f, {.name = "zen4", .bf16 = 2, .int8 = 4}},  // measured: 117, 234, 464 GFLOP/s
    {"AuthenticAMD", 0x19, 0x60, 0xaf, {.name = "zen4", .bf16 = 2, .int8 = 4}},
    {"AuthenticAMD", 0x1a, 0, 255, {.name = "zen5", .bf16 = 2, .int8 = 4, .codes_ahead = 16384}},
    {"GenuineIntel", 6, 0x8f, 0x8f,
     with_tiles("sapphire_rapids")},  // measured: 224, 112, 894 GFLOP/s; tiles 2650 and 5300
    {"GenuineIntel", 6, 0xcf, 0xcf, with_tiles("emerald_rapids")},  // 179, 89, 717; 2318 and 4656
    {"GenuineIntel", 6, 0xad, 0xae, with_tiles("granite_rapids")},
    {"GenuineIntel", 6, 0, 255, with_tiles("intel")},
    {"GenuineIntel", 0x13, 0, 255, with_tiles("intel")},
};
// A dot product that is no faster than multiply-adds still saves taking pairs apart.
constexpr Microarchitecture kUnknown{.name = "unknown", .bf16 = 1, .int8 = 2, .amx_bf16 = 4, .amx_int8 = 8};

bool is_amx(Feature f) { return f == Feature::amx_bf16 || f == Feature::amx_int8; }

struct Level {
  std::string_view name;
  Features of_host;
};

std::vector<Level> levels() {
  const Features host = cpu_features();
  std::vector<Level> all;
  if (!host.has(Feature::avx2)) return all;
  Features no_tiles = host;
  for (int f = 0; f < kFeatures; ++f)
    if (is_amx(static_cast<Feature>(f))) no_tiles = no_tiles.without(static_cast<Feature>(f));
  all.push_back({"avx2", Features().with(Feature::avx2)});
  if (host.has(Feature::avx512)) all.push_back({"avx512", no_tiles.without(Feature::avx512_bf16)});
  if (host.has(Feature::avx512_bf16)) all.push_back({"avx512_bf16", no_tiles});
  if (host.has(Feature::amx_bf16)) all.push_back({"amx", host});
  return all;
}

std::string level_names() {
  std::string names;
  for (const Level& level : levels()) names += fmt::format("{}, ", level.name);
  return names + "host";
}

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
  fail("isa '{}': {}. Accepted: one of {}, then any of +feature or -feature; this CPU has {}", text, why, level_names(),
       to_string(cpu_features()));
}

Features start(std::string_view text, std::string_view name) {
  if (name == "host") return host_target().features();
  for (const Level& level : levels())
    if (level.name == name) return level.of_host;
  for (const auto& [known, feature] : {std::pair("avx2", Feature::avx2),
                                       {"avx512", Feature::avx512},
                                       {"avx512_bf16", Feature::avx512_bf16},
                                       {"amx", Feature::amx_bf16}})
    if (name == known) refuse(text, why_lacking(feature));
  refuse(text, fmt::format("level '{}' is unknown", name));
}

Feature feature_named(std::string_view text, std::string_view name) {
  for (int f = 0; f < kFeatures; ++f) {
    const std::string_view known = to_string(static_cast<Feature>(f));
    if (name == known || (known.starts_with("avx512_") && name == known.substr(7))) return static_cast<Feature>(f);
  }
  std::string all;
  for (int f = 0; f < kFeatures; ++f) all += fmt::format("{}{}", f ? ", " : "", to_string(static_cast<Feature>(f)));
  refuse(text, fmt::format("feature '{}' is unknown; there are {}", name, all));
}

}  // namespace

const Microarchitecture& microarchitecture(const CpuModel& cpu) {
  for (const Row& row : kRows)
    if (row.vendor == cpu.vendor && row.family == cpu.family && row.first_model <= cpu.model &&
        cpu.model <= row.last_model)
      return row.rates;
  return kUnknown;
}

const Microarchitecture& microarchitecture(std::string_view name) {
  for (const Row& row : kRows)
    if (row.rates.name == name) return row.rates;
  if (name == kUnknown.name) return kUnknown;
  fail("no rates are known of a microarchitecture \"{}\"", name);
}

X86Target::X86Target(Features features, const Microarchitecture& rates, const CacheSizes& caches)
    : features_(features), rates_(&rates), l2_bytes_(caches.l2_bytes) {
  CHECK(features.has(Feature::avx2), "code needs AVX2");
  const auto add = [&](const DotUnit& unit) { units_[unit_count_++] = unit; };
  add({"vfmadd231ps", DType::f32, DType::f32, DType::f32, 1, lanes(), 1, 1});
  if (has(Feature::avx512_bf16)) add({"vdpbf16ps", DType::bf16, DType::bf16, DType::f32, 1, lanes(), 2, rates.bf16});
  if (has(avx512() ? Feature::avx512_vnni : Feature::avx_vnni) || has(Feature::vnni_emulated))
    add({"vpdpbusd", DType::u8, DType::i8, DType::i32, 1, lanes(), 4, rates.int8});
  // Where they are emulated, the choices are those of a CPU that has them.
  const Microarchitecture& tiles = emulates_tiles() ? microarchitecture("sapphire_rapids") : rates;
  if (has(Feature::amx_bf16) || emulates_tiles())
    add({"tdpbf16ps", DType::bf16, DType::bf16, DType::f32, 16, 16, 32, tiles.amx_bf16});
  if (has(Feature::amx_int8) || emulates_tiles()) {
    add({"tdpbusd", DType::u8, DType::i8, DType::i32, 16, 16, 64, tiles.amx_int8});
    add({"tdpbssd", DType::i8, DType::i8, DType::i32, 16, 16, 64, tiles.amx_int8});
  }
}

const DotUnit* X86Target::vector_unit(DType operands) const {
  const auto fits = [&](const DotUnit& unit) { return unit.m == 1 && unit.a == operands && unit.b == operands; };
  const auto found = std::ranges::find_if(units(), fits);
  return found == units().end() ? nullptr : &*found;
}

const DotUnit* X86Target::tile_unit(DType a) const {
  const auto fits = [&](const DotUnit& unit) { return unit.m > 1 && unit.a == a; };
  const auto found = std::ranges::find_if(units(), fits);
  return found == units().end() ? nullptr : &*found;
}

const DotUnit* X86Target::byte_unit() const {
  const auto fits = [](const DotUnit& unit) { return unit.m == 1 && unit.b == DType::i8; };
  const auto found = std::ranges::find_if(units(), fits);
  return found == units().end() ? nullptr : &*found;
}

bool X86Target::operator==(const X86Target& other) const {
  return features_ == other.features_ && rates_->name == other.rates_->name && l2_bytes_ == other.l2_bytes_;
}

X86Target parse_target(std::string_view text) {
  size_t at = std::min(text.find_first_of("+-"), text.size());
  Features features = start(text, text.substr(0, at));
  while (at < text.size()) {
    const size_t end = std::min(text.find_first_of("+-", at + 1), text.size());
    const Feature f = feature_named(text, text.substr(at + 1, end - at - 1));
    if (text[at] == '-' && f == Feature::avx2) refuse(text, "compiled code needs avx2");
    if (text[at] == '+' && !usable_features().has(f)) refuse(text, why_lacking(f));
    features = text[at] == '+' ? features.with(f) : features.without(f);
    at = end;
  }
  return X86Target(features);
}

// From the level that differs in the fewest features, the lower of two.
std::string to_string(const X86Target& target) {
  std::string shortest;
  int fewest = kFeatures + 1;
  for (const Level& level : levels()) {
    std::string text(level.name);
    int edits = 0;
    Features reached = level.of_host;
    for (int i = kFeatures - 1; i >= 0; --i)
      if (const auto f = static_cast<Feature>(i); reached.has(f) && !target.has(f))
        text += fmt::format("-{}", to_string(f)), reached = reached.without(f), ++edits;
    for (int i = 0; i < kFeatures; ++i)
      if (const auto f = static_cast<Feature>(i); target.has(f) && !reached.has(f))
        text += fmt::format("+{}", to_string(f)), reached = reached.with(f), ++edits;
    if (edits < fewest) fewest = edits, shortest = std::move(text);
  }
  return shortest;
}

X86Target host_target() {
  const Features features = cpu_features();
  if (!features.has(Feature::avx2))
    fail("this CPU ({}) lacks AVX2 or FMA, which compiled code needs; use --backend reference", cpu_name());
  return X86Target(features);
}

std::vector<X86Target> target_levels() {
  std::vector<X86Target> targets;
  for (const Level& level : levels()) targets.push_back(X86Target(level.of_host));
  return targets;
}

}  // namespace hone
