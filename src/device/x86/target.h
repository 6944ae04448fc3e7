// What code is generated for: a device, what it can do, and how fast its units for products are beside each other.
// Features decide which code is possible; rates only which of two possible ones is chosen, so that a wrong rate costs
// time, never a wrong result. Code depends on all that a target has: kept code of another target is not used
// (device/llvm/object_cache.h).
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpu.h"
#include "ir/type.h"

namespace hone {

// One instruction that adds products: sums[m,n] += a[m,k] · b[k,n].
struct DotUnit {
  std::string_view name;  // of the instruction
  DType a, b, sum;
  int m, n, k;
  double rate;  // products in the time of one product by f32 multiply-add
};

// Rates of the dot products of CPUs of one design, as multiples of their f32 multiply-adds; and how far ahead loops
// that decode weights for a few rows ask for codes (docs/decisions/weights-in-lanes.md).
struct Microarchitecture {
  std::string_view name;  // "zen4"
  double bf16 = 1, int8 = 1, amx_bf16 = 1, amx_int8 = 1;
  int64_t codes_ahead = 0;  // bytes of one panel; 0: what the CPU itself does is as good, or nothing is known
};
const Microarchitecture& microarchitecture(const CpuModel& cpu);    // a cautious row for a CPU that the table lacks
const Microarchitecture& microarchitecture(std::string_view name);  // throws Error when there is none

class X86Target {
 public:
  explicit X86Target(Features features, const Microarchitecture& rates = microarchitecture(cpu_model()),
                     const CacheSizes& caches = cache_sizes());

  std::string_view device() const { return "cpu"; }
  Features features() const { return features_; }
  bool has(Feature f) const { return features_.has(f); }
  bool avx512() const { return has(Feature::avx512); }
  int lanes() const { return avx512() ? 16 : 8; }       // 32-bit elements of a vector register
  int registers() const { return avx512() ? 32 : 16; }  // vector registers
  int64_t l2_bytes() const { return l2_bytes_; }        // of the second-level cache; 0: unknown
  const Microarchitecture& rates() const { return *rates_; }

  // The units it has, f32 multiply-adds first.
  std::span<const DotUnit> units() const { return {units_.data(), unit_count_}; }
  // The one that multiplies vectors of such elements, lane by lane; null when there is none.
  const DotUnit* vector_unit(DType operands) const;
  const DotUnit* tile_unit(DType a) const;  // the one that multiplies tiles of them by bf16 or, of i8 and u8, by i8
  const DotUnit* byte_unit() const;         // the one that multiplies vectors of bytes, some with a sign; likewise
  bool emulates_tiles() const { return has(Feature::amx_emulated); }

  bool operator==(const X86Target& other) const;

 private:
  Features features_;
  const Microarchitecture* rates_;
  int64_t l2_bytes_;
  std::array<DotUnit, 6> units_{};
  size_t unit_count_ = 0;
};

// As --isa takes it: a level, or `host`, and features added to it or taken away: "avx512", "avx2+avx_vnni",
// "host-amx_bf16". A level has what this CPU has of: avx2, nothing else; avx512, all but avx512_bf16 and AMX;
// avx512_bf16, all but AMX; amx, all. Features of AVX-512 may be written without "avx512_". Emulated ones may be added
// on any CPU.
X86Target parse_target(std::string_view text);   // throws Error for unknown names and for what this CPU lacks
std::string to_string(const X86Target& target);  // of one for this CPU, as parse_target() takes it

X86Target host_target();                 // with all that this CPU has; throws Error when it lacks AVX2
std::vector<X86Target> target_levels();  // of this CPU, lowest first; empty when it lacks AVX2

}  // namespace hone
