#include "base/cpu.h"

#include <cpuid.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "base/error.h"
#include "base/text.h"

namespace hone {
namespace {

struct Registers {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(unsigned leaf, unsigned subleaf = 0) {
  Registers r;
  __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
  return r;
}

bool bit(unsigned word, int position) { return word >> position & 1; }
int bits(unsigned word, int low, int count) { return static_cast<int>(word >> low & ((1u << count) - 1)); }

// XCR0: which register files the operating system saves.
uint64_t saved_state() {
  unsigned low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

constexpr uint32_t bits_of(std::initializer_list<Feature> features) {
  uint32_t bits = 0;
  for (const Feature f : features) bits |= 1u << static_cast<int>(f);
  return bits;
}

struct Fact {
  std::string_view name;
  uint32_t builds_on;  // bits_of() what it asks for itself
};
constexpr Fact kFacts[] = {{"avx2", 0},
                           {"avx_vnni", bits_of({Feature::avx2})},
                           {"avx512", bits_of({Feature::avx2})},
                           {"avx512_vbmi", bits_of({Feature::avx512})},
                           {"avx512_vbmi2", bits_of({Feature::avx512})},
                           {"avx512_vnni", bits_of({Feature::avx512})},
                           {"avx512_bf16", bits_of({Feature::avx512})},
                           {"amx_bf16", bits_of({Feature::avx512})},
                           {"amx_int8", bits_of({Feature::avx512})},
                           {"amx_emulated", bits_of({Feature::avx2})},
                           {"vnni_emulated", bits_of({Feature::avx2})}};
static_assert(std::size(kFacts) == kFeatures && kFeatures == static_cast<int>(Feature::vnni_emulated) + 1);
const Fact& fact(Feature f) { return kFacts[static_cast<size_t>(f)]; }

// 0 once Linux lets the process use tiles, which it does when asked, for all threads and children until they run
// another program: threads that switch then save 8 KB more, and signal stacks must be as much larger. Else the number
// of its error.
int request_tiles() {
  constexpr long kRequest = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM of asm/prctl.h, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequest, kTileData) == 0 ? 0 : errno;
}

struct Detected {
  Features features;    // less what is hidden
  Features hidden;      // by HONE_WITHOUT
  int tiles_error = 0;  // of the system, where the CPU has tiles
};

Feature parse_feature(std::string_view name) {
  std::string names;
  for (int f = 0; f < kFeatures; ++f) {
    if (kFacts[f].name == name) return static_cast<Feature>(f);
    names += fmt::format("{}{}", f ? ", " : "", kFacts[f].name);
  }
  fail("HONE_WITHOUT names '{}', which is no feature of a CPU; known: {}", name, names);
}

// A CPU that lacks more than this one, for tests on it.
void hide(Detected& detected) {
  const char* hidden = std::getenv("HONE_WITHOUT");
  if (!hidden || !*hidden) return;
  const Features all = detected.features;
  for (const std::string& name : split(hidden, ','))
    detected.features = detected.features.without(parse_feature(trim(name)));
  for (int f = 0; f < kFeatures; ++f)
    if (const Feature feature = static_cast<Feature>(f); all.has(feature) && !detected.features.has(feature))
      detected.hidden = detected.hidden.with(feature);
}

Detected detect() {
  Detected detected;
  Features& found = detected.features;
  const Registers basic = cpuid(1), extended = cpuid(7, 0), more = cpuid(7, 1), amd = cpuid(0x80000001);
  if (!bit(basic.ecx, 27)) return detected;  // no OSXSAVE
  const uint64_t state = saved_state();
  const bool ymm = (state & 0x6) == 0x6, zmm = (state & 0xe6) == 0xe6;
  const bool tiles = (state & 0x60000) == 0x60000 && bit(extended.edx, 24);
  const auto add = [&](Feature f, bool present) {
    const uint32_t needed = fact(f).builds_on;
    if (present && (found.bits() & needed) == needed) found = found.with(f);
  };
  const bool fma = bit(basic.ecx, 12), f16c = bit(basic.ecx, 29), movbe = bit(basic.ecx, 22),
             popcnt = bit(basic.ecx, 23), bmi = bit(extended.ebx, 3), bmi2 = bit(extended.ebx, 8),
             lzcnt = bit(amd.ecx, 5);
  add(Feature::avx2, ymm && bit(extended.ebx, 5) && fma && f16c && movbe && popcnt && bmi && bmi2 && lzcnt);
  add(Feature::avx_vnni, bit(more.eax, 4));
  add(Feature::avx512, zmm && bit(extended.ebx, 16) && bit(extended.ebx, 17) && bit(extended.ebx, 28) &&
                           bit(extended.ebx, 30) && bit(extended.ebx, 31));
  add(Feature::avx512_vbmi, bit(extended.ecx, 1));
  add(Feature::avx512_vbmi2, bit(extended.ecx, 6));
  add(Feature::avx512_vnni, bit(extended.ecx, 11));
  add(Feature::avx512_bf16, bit(more.eax, 5));
  add(Feature::amx_bf16, tiles && bit(extended.edx, 22));
  add(Feature::amx_int8, tiles && bit(extended.edx, 25));
  hide(detected);
  if (found.has(Feature::amx_bf16) || found.has(Feature::amx_int8)) {
    detected.tiles_error = request_tiles();
    if (detected.tiles_error) found = found.without(Feature::amx_bf16).without(Feature::amx_int8);
  }
  return detected;
}

const Detected& detected() {
  static const Detected once = detect();
  return once;
}

CpuModel identify() {
  const Registers first = cpuid(0), basic = cpuid(1);
  char vendor[13] = {};
  std::memcpy(vendor, &first.ebx, 4);
  std::memcpy(vendor + 4, &first.edx, 4);
  std::memcpy(vendor + 8, &first.ecx, 4);
  const int family = bits(basic.eax, 8, 4), model = bits(basic.eax, 4, 4);
  return {.vendor = vendor,
          .family = family == 15 ? family + bits(basic.eax, 20, 8) : family,
          .model = family == 6 || family == 15 ? model + 16 * bits(basic.eax, 16, 4) : model};
}

// Deterministic cache parameters: leaf 4, which AMD has at another number in the same form.
CacheSizes find_caches() {
  CacheSizes sizes;
  const unsigned leaf = cpu_model().vendor == "AuthenticAMD" ? 0x8000001d : 4;
  for (unsigned index = 0; index < 8; ++index) {
    const Registers r = cpuid(leaf, index);
    const int type = bits(r.eax, 0, 5), level = bits(r.eax, 5, 3);
    if (type == 0) break;
    if (type == 2) continue;  // instructions
    const int64_t ways = bits(r.ebx, 22, 10) + 1, partitions = bits(r.ebx, 12, 10) + 1, line = bits(r.ebx, 0, 12) + 1;
    const int64_t bytes = ways * partitions * line * (int64_t{r.ecx} + 1);
    (level == 1 ? sizes.l1_bytes : level == 2 ? sizes.l2_bytes : sizes.l3_bytes) = bytes;
  }
  return sizes;
}

}  // namespace

std::string_view to_string(Feature feature) { return fact(feature).name; }

Features Features::with(Feature f) const {
  Features result = *this;
  result.bits_ |= bits_of({f});
  for (int other = 0; other < kFeatures; ++other)
    if (fact(f).builds_on >> other & 1) result = result.with(static_cast<Feature>(other));
  return result;
}

Features Features::without(Feature f) const {
  Features result = *this;
  result.bits_ &= ~bits_of({f});
  for (int other = 0; other < kFeatures; ++other)
    if (kFacts[other].builds_on & bits_of({f}) && result.has(static_cast<Feature>(other)))
      result = result.without(static_cast<Feature>(other));
  return result;
}

std::string to_string(Features features) {
  std::string text;
  for (int f = 0; f < kFeatures; ++f)
    if (features.has(static_cast<Feature>(f))) text += fmt::format("{}{}", text.empty() ? "" : " ", kFacts[f].name);
  return text;
}

Features cpu_features() { return detected().features; }

Features usable_features() {
  if (!cpu_features().has(Feature::avx2)) return cpu_features();
  return cpu_features().with(Feature::amx_emulated).with(Feature::vnni_emulated);
}

std::string why_lacking(Feature feature) {
  if (detected().hidden.has(feature))
    return fmt::format("HONE_WITHOUT={} hides {}", std::getenv("HONE_WITHOUT"), to_string(feature));
  const bool by_tiles = feature == Feature::amx_bf16 || feature == Feature::amx_int8;
  if (by_tiles && detected().tiles_error)
    return fmt::format("the operating system does not let this process use the tiles of AMX ({})",
                       why_without_tiles(detected().tiles_error));
  return fmt::format("this CPU lacks {}", to_string(feature));
}

std::string why_without_tiles(int error) {
  if (error != ENOSPC) return std::strerror(error);
  return fmt::format(
      "a thread's signal stack is too small to save them on: sigaltstack() needs {} bytes and what its handlers take",
      getauxval(AT_MINSIGSTKSZ));
}

std::string cpu_name() {
  char name[49] = {};
  for (unsigned i = 0; i < 3; ++i) {
    const Registers r = cpuid(0x80000002 + i);
    std::memcpy(name + 16 * i, &r, 16);
  }
  return std::string(trim(name));
}

const CpuModel& cpu_model() {
  static const CpuModel model = identify();
  return model;
}

const CacheSizes& cache_sizes() {
  static const CacheSizes sizes = find_caches();
  return sizes;
}

}  // namespace hone
