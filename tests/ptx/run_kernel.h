// Kernels of tests: their text, and what they are given.
#pragma once

#include <array>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "tests/support/ptx/machine.h"
#include "tests/support/ptx/numbers.h"

namespace hone::ptx::test {

// "x"s of a kernel: p0 … p3 are pointers, n is a number. Registers of all kinds are there: %p, %h (16 bits), %r, %rd,
// %f, %fd. Line 10 is the body's first.
inline std::string kernel_text(std::string_view body, std::string_view before = "") {
  return fmt::format(R"(.version 7.8
.target sm_90
.address_size 64
{}
.visible .entry k(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3, .param .u32 n) {{
.reg .pred %p<64>; .reg .b16 %h<64>; .reg .b32 %r<256>; .reg .b64 %rd<64>; .reg .f32 %f<256>; .reg .f64 %fd<64>;
ld.param.u64 %rd0, [p0]; ld.param.u64 %rd1, [p1]; ld.param.u64 %rd2, [p2]; ld.param.u64 %rd3, [p3];
ld.param.u32 %r0, [n]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd4, %r1, 4;

{}
}})",
                     before, body);
}

struct Params {
  std::array<uint64_t, 4> pointers{};
  uint32_t n = 0;
  std::vector<std::byte> bytes() const {
    std::vector<std::byte> out(36);
    std::memcpy(out.data(), pointers.data(), 32);
    std::memcpy(out.data() + 32, &n, 4);
    return out;
  }
};

// Elements at an address of 256 bytes, as a device's allocator gives them.
template <class T>
struct Aligned {
  using value_type = T;
  Aligned() = default;
  template <class U>
  Aligned(const Aligned<U>&) {}
  T* allocate(size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t(256))); }
  void deallocate(T* p, size_t) { ::operator delete(p, std::align_val_t(256)); }
  bool operator==(const Aligned&) const { return true; }
};
template <class T>
using Vector = std::vector<T, Aligned<T>>;

struct Kept {  // what a run leaves behind
  Module module;
  Counts counts;
  LineCounts of(std::string_view spelling) const { return counts.of(module.kernels[0], spelling); }
};
inline Kept run_text(const std::string& text, const Launch& launch, const Params& params, const Memory& memory) {
  Kept kept{parse(text), {}};
  const std::vector<std::byte> bytes = params.bytes();
  kept.counts = run(kept.module, kept.module.kernels.at(0), launch, bytes, memory);
  return kept;
}

// What one warp writes to p0, a word a thread.
inline Vector<uint32_t> words_of(std::string_view body, Launch launch = {}, std::string_view before = "") {
  Vector<uint32_t> out(launch.block[0] * launch.grid[0]);
  Memory memory;
  const Params params{.pointers = {memory.add(std::span(out))}, .n = static_cast<uint32_t>(out.size())};
  run_text(kernel_text(body, before), launch, params, memory);
  return out;
}

template <class T>
constexpr std::string_view kTypeName = "";
template <>
inline constexpr std::string_view kTypeName<uint8_t> = "u8";
template <>
inline constexpr std::string_view kTypeName<int8_t> = "s8";
template <>
inline constexpr std::string_view kTypeName<uint16_t> = "b16";
template <>
inline constexpr std::string_view kTypeName<int16_t> = "b16";
template <>
inline constexpr std::string_view kTypeName<Half> = "b16";
template <>
inline constexpr std::string_view kTypeName<Bfloat> = "b16";
template <>
inline constexpr std::string_view kTypeName<uint32_t> = "b32";
template <>
inline constexpr std::string_view kTypeName<int32_t> = "b32";
template <>
inline constexpr std::string_view kTypeName<float> = "f32";
template <>
inline constexpr std::string_view kTypeName<uint64_t> = "b64";
template <>
inline constexpr std::string_view kTypeName<int64_t> = "b64";
template <>
inline constexpr std::string_view kTypeName<double> = "f64";

// d of `instruction`, over registers a, b, c of these types, for each element of the arguments (of one size, at most
// 32).
template <class R, class... A>
std::vector<R> results(std::string_view instruction, const std::vector<A>&... arguments) {
  const size_t n = std::min({arguments.size()...});
  Memory memory;
  Params params;
  Vector<R> out(n);
  std::tuple<Vector<A>...> in{Vector<A>(arguments.begin(), arguments.end())...};
  params.pointers[0] = memory.add(std::span(out));
  std::string body = fmt::format(".reg .{} d;", kTypeName<R>);
  size_t i = 0;
  const auto load = [&](auto& values, auto sample) {
    using T = decltype(sample);
    ++i;
    params.pointers[i] = memory.add(std::span(values));
    const char name = "?abc"[i];
    body += fmt::format(".reg .{0} {1}; mad.wide.u32 %rd{2}, %r1, {3}, %rd{4}; ld.global.{0} {1}, [%rd{2}];",
                        kTypeName<T>, name, 10 + i, sizeof(T), i);
  };
  std::apply([&](auto&... values) { (load(values, A{}), ...); }, in);
  body += fmt::format("\n{} mad.wide.u32 %rd20, %r1, {}, %rd0; st.global.{} [%rd20], d; ret;", instruction, sizeof(R),
                      kTypeName<R>);
  run_text(kernel_text(body), {.block = {static_cast<uint32_t>(n), 1, 1}}, params, memory);
  return {out.begin(), out.end()};
}
template <class R, class... A>
R result(std::string_view instruction, A... arguments) {
  return results<R>(instruction, std::vector<A>{arguments}...)[0];
}

}  // namespace hone::ptx::test
