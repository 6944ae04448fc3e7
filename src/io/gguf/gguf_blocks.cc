#include "io/gguf/gguf_blocks.h"

#include <algorithm>
#include <atomic>

#include "base/error.h"
#include "base/memory_limit.h"
#include "base/threads.h"
#include "formats/bits.h"
#include "formats/packed.h"
#include "io/gguf/block_layout.h"

namespace hone {
namespace {

constexpr int64_t kGrain = 4096;  // blocks

// What a block takes in each plane.
struct BlockPlanes {
  int64_t blocks, elems, scales, outer, code_bytes, scale_bytes, outer_bytes;
  int width, scale_width;

  BlockPlanes(const GgufType& type, const Format& format, const std::vector<int64_t>& shape) {
    const int levels = scales_per_group(format);
    elems = type.block;
    blocks = element_count(shape) / elems;
    width = format.element.bits, scale_width = format.scale.bits;
    scales = elems / format.geometry.columns * levels;
    outer = is_two_level(format) ? levels : 0;
    CHECK(elems % format.geometry.columns == 0 && (scales * scale_width) % 8 == 0, "{}", type.name);
    code_bytes = elems * width / 8, scale_bytes = scales * scale_width / 8, outer_bytes = outer * 2;
  }
};

template <class T>
auto bytes_at(T& plane, int64_t offset) {
  return plane.data() + offset;
}

struct PlaneBuffers {
  Buffer codes, scales, global;
};

Buffer room_for(int64_t blocks, int64_t bytes) { return Buffer::uninitialised(static_cast<size_t>(blocks * bytes)); }

PlaneBuffers split_blocks(const BlockLayout& layout, const BlockPlanes& p, const GgufType& type,
                          std::span<const std::byte> blocks) {
  PlaneBuffers planes{room_for(p.blocks, p.code_bytes), room_for(p.blocks, p.scale_bytes),
                      room_for(p.blocks, p.outer_bytes)};
  const std::span<std::byte> codes = planes.codes.mutable_bytes(), scales = planes.scales.mutable_bytes(),
                             outer = planes.global.mutable_bytes();
  auto chunk = [&](int64_t begin, int64_t end, int) {
    BlockParts parts;
    for (int64_t i = begin; i < end; ++i) {
      layout.split(reinterpret_cast<const uint8_t*>(bytes_at(blocks, i * type.bytes)), parts);
      write_codes(bytes_at(codes, i * p.code_bytes), p.width,
                  std::span(parts.codes).first(static_cast<size_t>(p.elems)));
      write_codes(bytes_at(scales, i * p.scale_bytes), p.scale_width,
                  std::span(parts.scales).first(static_cast<size_t>(p.scales)));
      if (p.outer > 0)
        write_codes(bytes_at(outer, i * p.outer_bytes), 16, std::span(parts.outer).first(static_cast<size_t>(p.outer)));
    }
  };
  parallel_chunks(p.blocks, kGrain, hardware_threads(), chunk);
  return planes;
}

// Whether some pair of bits is 3, which ternary has no code for.
bool has_threes(std::span<const std::byte> blocks, const GgufType& type) {
  const int64_t count = std::ssize(blocks) / type.bytes;
  std::atomic<bool> found = false;
  auto chunk = [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i)
      for (const std::byte b : blocks.subspan(static_cast<size_t>(i * type.bytes), static_cast<size_t>(type.block / 4)))
        if ((b & (b >> 1) & std::byte{0x55}) != std::byte{0}) found = true;
  };
  parallel_chunks(count, kGrain, hardware_threads(), chunk);
  return found;
}

// Scales of 255 among the first `count` bytes of a block: llama.cpp reads a number that no other reader does. 2^128 of
// MXFP4 makes infinities, where OCP's E8M0 and hone have NaN; 480 of NVFP4 lies beyond E4M3.
void refuse_scales(std::span<const std::byte> blocks, const GgufType& type, size_t count, const std::string& where) {
  for (size_t i = 0; i < blocks.size(); i += static_cast<size_t>(type.bytes))
    if (std::ranges::count(blocks.subspan(i, count), std::byte{255}) > 0)
      fail(
          "{}: block {} has the scale 255, which llama.cpp reads as {} and other readers of {} as NaN; convert the "
          "model again",
          where, i / static_cast<size_t>(type.bytes), count == 1 ? "2^128" : "480", type.name);
}

}  // namespace

Tensor tensor_of_blocks(const GgufType& type, const std::vector<int64_t>& shape, std::span<const std::byte> blocks,
                        const std::string& where, float global) {
  CHECK(type.is_packed() && !shape.empty() && shape.back() % type.block == 0, "{}", where);
  CHECK(std::ssize(blocks) == element_count(shape) / type.block * type.bytes, "{}", where);
  const bool wide = type.layout == &tq2_0_layout && has_threes(blocks, type);
  if (type.layout == &mxfp4_blocks) refuse_scales(blocks, type, 1, where);
  if (type.layout == &nvfp4_blocks) refuse_scales(blocks, type, 4, where);
  const Format format = parse_format(wide ? "int2.g256.s=fp16" : type.format);
  require_memory(plane_bytes(format, shape).total(), where);
  const BlockPlanes sizes(type, format, shape);
  PlaneBuffers planes = split_blocks(wide ? tq2_0_wide_layout : *type.layout, sizes, type, blocks);
  if (type.layout == &nvfp4_blocks) planes.global = Buffer::copy_of(std::as_bytes(std::span(&global, 1)));
  return Tensor::packed(format, shape, std::move(planes.codes), std::move(planes.scales), Buffer(),
                        std::move(planes.global));
}

std::vector<std::byte> blocks_of(const GgufType& type, const Tensor& tensor) {
  CHECK(tensor.is_packed() && to_string(*tensor.format()) == type.format && type.layout->join, "{}", type.name);
  CHECK(!tensor.shape().empty() && tensor.shape().back() % type.block == 0, "{}", type.name);
  const BlockPlanes p(type, *tensor.format(), tensor.shape());
  const PlaneView planes = tensor.planes();
  std::vector<std::byte> blocks(static_cast<size_t>(p.blocks * type.bytes));
  auto chunk = [&](int64_t begin, int64_t end, int) {
    BlockParts parts;
    for (int64_t i = begin; i < end; ++i) {
      read_codes(bytes_at(planes.codes, i * p.code_bytes), p.width, 0,
                 std::span(parts.codes).first(static_cast<size_t>(p.elems)));
      read_codes(bytes_at(planes.scales, i * p.scale_bytes), p.scale_width, 0,
                 std::span(parts.scales).first(static_cast<size_t>(p.scales)));
      if (p.outer > 0)
        read_codes(bytes_at(planes.global, i * p.outer_bytes), 16, 0,
                   std::span(parts.outer).first(static_cast<size_t>(p.outer)));
      type.layout->join(parts, reinterpret_cast<uint8_t*>(bytes_at(blocks, i * type.bytes)));
    }
  };
  parallel_chunks(p.blocks, kGrain, hardware_threads(), chunk);
  return blocks;
}

}  // namespace hone
