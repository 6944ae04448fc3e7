// Bytes by an assembler (llvm-mc), one of each form of operand and of each number that needs a bit of VEX.
#include "tests/device/x86/amx/tile_decoder.h"

#include <gtest/gtest.h>

#include <vector>

namespace hone::test {
namespace {

using Kind = TileInstruction::Kind;

// Register n has 0x10000 * (n + 1).
GeneralRegisters numbered_registers() {
  GeneralRegisters registers;
  for (size_t i = 0; i < registers.size(); ++i) registers[i] = 0x10000 * static_cast<int64_t>(i + 1);
  return registers;
}

std::optional<TileInstruction> decoded(std::vector<uint8_t> bytes) {
  bytes.resize(16, 0x90);
  return decode_tile_instruction(bytes.data(), numbered_registers());
}

struct Example {
  const char* text;
  std::vector<uint8_t> bytes;
  TileInstruction is;
};

TEST(TileDecoder, ReadsEachFormOfOperand) {
  const Example examples[] = {
      {"ldtilecfg (%rdi)", {0xc4, 0xe2, 0x78, 0x49, 0x07}, {.kind = Kind::configure, .address = 0x80000}},
      {"ldtilecfg 64(%rsp)", {0xc4, 0xe2, 0x78, 0x49, 0x44, 0x24, 0x40}, {.kind = Kind::configure, .address = 0x50040}},
      {"ldtilecfg -8(%r13,%r12,4)",
       {0xc4, 0x82, 0x78, 0x49, 0x44, 0xa5, 0xf8},
       {.kind = Kind::configure, .address = 0xe0000 + 4 * 0xd0000 - 8}},
      {"sttilecfg (%rax)", {0xc4, 0xe2, 0x79, 0x49, 0x00}, {.kind = Kind::store_configuration, .address = 0x10000}},
      {"tilerelease", {0xc4, 0xe2, 0x78, 0x49, 0xc0}, {.kind = Kind::release}},
      {"tilezero %tmm3", {0xc4, 0xe2, 0x7b, 0x49, 0xd8}, {.kind = Kind::zero, .c = 3}},
      {"tileloadd (%rdi,%rax), %tmm4",
       {0xc4, 0xe2, 0x7b, 0x4b, 0x24, 0x07},
       {.kind = Kind::load, .c = 4, .address = 0x80000, .stride = 0x10000}},
      {"tileloadd 64(%r9,%r15,2), %tmm5",
       {0xc4, 0x82, 0x7b, 0x4b, 0x6c, 0x79, 0x40},
       {.kind = Kind::load, .c = 5, .address = 0xa0040, .stride = 0x200000}},
      {"tileloadd (%r12), %tmm1",
       {0xc4, 0xc2, 0x7b, 0x4b, 0x0c, 0x24},
       {.kind = Kind::load, .c = 1, .address = 0xd0000, .stride = 0}},
      {"tileloadd 4096(,%rbx,8), %tmm2",
       {0xc4, 0xe2, 0x7b, 0x4b, 0x14, 0xdd, 0x00, 0x10, 0x00, 0x00},
       {.kind = Kind::load, .c = 2, .address = 0x1000, .stride = 0x200000}},
      {"tileloaddt1 -128(%rbp,%rcx), %tmm6",
       {0xc4, 0xe2, 0x79, 0x4b, 0x74, 0x0d, 0x80},
       {.kind = Kind::load, .c = 6, .address = 0x60000 - 128, .stride = 0x20000}},
      {"tileloaddt1 1024(%r13,%r8), %tmm7",
       {0xc4, 0x82, 0x79, 0x4b, 0xbc, 0x05, 0x00, 0x04, 0x00, 0x00},
       {.kind = Kind::load, .c = 7, .address = 0xe0400, .stride = 0x90000}},
      {"tilestored %tmm0, (%rsp,%r10)",
       {0xc4, 0xa2, 0x7a, 0x4b, 0x04, 0x14},
       {.kind = Kind::store, .c = 0, .address = 0x50000, .stride = 0xb0000}},
      {"tilestored %tmm3, (%r13,%rdx)",
       {0xc4, 0xc2, 0x7a, 0x4b, 0x5c, 0x15, 0x00},
       {.kind = Kind::store, .c = 3, .address = 0xe0000, .stride = 0x30000}},
      {"tdpbf16ps %tmm7, %tmm5, %tmm3",
       {0xc4, 0xe2, 0x42, 0x5c, 0xdd},
       {.kind = Kind::dot_bf16, .c = 3, .a = 5, .b = 7}},
      {"tdpbssd %tmm6, %tmm4, %tmm0",
       {0xc4, 0xe2, 0x4b, 0x5e, 0xc4},
       {.kind = Kind::dot_i8_i8, .c = 0, .a = 4, .b = 6}},
      {"tdpbusd %tmm6, %tmm4, %tmm0",
       {0xc4, 0xe2, 0x49, 0x5e, 0xc4},
       {.kind = Kind::dot_u8_i8, .c = 0, .a = 4, .b = 6}},
      {"tdpbsud %tmm6, %tmm4, %tmm0",
       {0xc4, 0xe2, 0x4a, 0x5e, 0xc4},
       {.kind = Kind::dot_i8_u8, .c = 0, .a = 4, .b = 6}},
      {"tdpbuud %tmm6, %tmm4, %tmm0",
       {0xc4, 0xe2, 0x48, 0x5e, 0xc4},
       {.kind = Kind::dot_u8_u8, .c = 0, .a = 4, .b = 6}},
  };
  for (Example example : examples) {
    example.is.length = static_cast<int>(example.bytes.size());
    EXPECT_EQ(decoded(example.bytes), example.is) << example.text;
  }
}

TEST(TileDecoder, CountsFromTheNextInstruction) {
  const std::vector<uint8_t> bytes{0xc4, 0xe2, 0x78, 0x49, 0x05, 0x45, 0x23, 0x01, 0x00};  // ldtilecfg 0x12345(%rip)
  const auto found = decode_tile_instruction(bytes.data(), numbered_registers());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->length, 9);
  EXPECT_EQ(found->address, reinterpret_cast<int64_t>(bytes.data()) + 9 + 0x12345);
}

TEST(TileDecoder, LeavesWhatIsNoTileInstruction) {
  const std::pair<const char*, std::vector<uint8_t>> examples[] = {
      {"ud2", {0x0f, 0x0b}},
      {"vpdpbusd %ymm6, %ymm4, %ymm0", {0xc4, 0xe2, 0x5d, 0x50, 0xc6}},
      {"of 256 bits", {0xc4, 0xe2, 0x7c, 0x49, 0xc0}},
      {"of W1", {0xc4, 0xe2, 0xf8, 0x49, 0xc0}},
      {"of map 0F", {0xc4, 0xe1, 0x78, 0x49, 0xc0}},
      {"tileloadd without SIB", {0xc4, 0xe2, 0x7b, 0x4b, 0x07}},
      {"tilezero %tmm11", {0xc4, 0x62, 0x7b, 0x49, 0xd8}},
      {"tilezero of a second register", {0xc4, 0xe2, 0x7b, 0x49, 0xd9}},
      {"tilezero of a third register", {0xc4, 0xe2, 0x73, 0x49, 0xd8}},
      {"tdpbf16ps of tmm13", {0xc4, 0xc2, 0x42, 0x5c, 0xdd}},
      {"tdpbf16ps of tmm15", {0xc4, 0xe2, 0x02, 0x5c, 0xdd}},
      {"tdpbf16ps of memory", {0xc4, 0xe2, 0x42, 0x5c, 0x1d}},
      {"tdpfp16ps, which we don't use", {0xc4, 0xe2, 0x43, 0x5c, 0xdd}},
      {"tilerelease with a tile", {0xc4, 0xe2, 0x78, 0x49, 0xc8}},
  };
  for (const auto& [text, bytes] : examples) EXPECT_FALSE(decoded(bytes)) << text;
}

// All eight tiles as kernels have them.
TileConfig usual() {
  TileConfig config{.palette = 1};
  for (int t = 0; t < 8; ++t) config.rows[t] = t < 6 ? 9 : 16, config.row_bytes[t] = 64;
  return config;
}

TEST(TileDecoder, RefusesConfigurationsThatAProcessorWould) {
  EXPECT_EQ(configuration_fault(usual()), "");
  EXPECT_EQ(configuration_fault({}), "") << "none";
  const auto fault = [](auto change) {
    TileConfig config = usual();
    change(config);
    return configuration_fault(config);
  };
  EXPECT_EQ(fault([](TileConfig& c) { c.palette = 2; }), "palette 2");
  EXPECT_EQ(fault([](TileConfig& c) { c.start_row = 1; }), "row 1 to start at");
  EXPECT_EQ(fault([](TileConfig& c) { c.reserved[13] = 1; }), "a reserved byte is not 0");
  EXPECT_EQ(fault([](TileConfig& c) { c.rows[5] = 17; }), "tile 5 of 17 rows of 64 bytes");
  EXPECT_EQ(fault([](TileConfig& c) { c.row_bytes[0] = 65; }), "tile 0 of 9 rows of 65 bytes");
  EXPECT_EQ(fault([](TileConfig& c) { c.rows[7] = 0; }), "tile 7 of 0 rows of 64 bytes");
  EXPECT_EQ(fault([](TileConfig& c) { c.rows[8] = 1; }), "a size of tile 8");
  EXPECT_EQ(fault([](TileConfig& c) { c.row_bytes[15] = 4; }), "a size of tile 15");
  EXPECT_EQ(fault([](TileConfig& c) { c.rows[3] = 0, c.row_bytes[3] = 0; }), "") << "a tile that is not used";
}

TEST(TileDecoder, RefusesProductsThatAProcessorWould) {
  const TileInstruction dot{.kind = Kind::dot_bf16, .c = 0, .a = 4, .b = 6};
  EXPECT_EQ(instruction_fault(dot, usual()), "");
  const auto fault = [&](auto change) {
    TileConfig config = usual();
    TileInstruction instruction = dot;
    change(config, instruction);
    return instruction_fault(instruction, config);
  };
  EXPECT_EQ(fault([](TileConfig& c, TileInstruction&) { c = {}; }), "tdpbf16ps without a configuration");
  EXPECT_EQ(fault([](TileConfig& c, TileInstruction&) { c.rows[6] = 0; }),
            "tdpbf16ps of tile 6 of 0 x 64, which is not configured");
  EXPECT_EQ(fault([](TileConfig&, TileInstruction& i) { i.b = 4; }), "tdpbf16ps of tiles 0, 4, 4");
  EXPECT_EQ(fault([](TileConfig&, TileInstruction& i) { i.a = 0; }), "tdpbf16ps of tiles 0, 0, 6");
  EXPECT_EQ(fault([](TileConfig&, TileInstruction& i) { i.b = 0; }), "tdpbf16ps of tiles 0, 4, 0");
  EXPECT_EQ(fault([](TileConfig& c, TileInstruction&) { c.rows[4] = 8; }),
            "tdpbf16ps of tile 0 of 9 x 64, tile 4 of 8 x 64, tile 6 of 16 x 64");
  for (int t : {0, 4, 6})
    EXPECT_NE(fault([&](TileConfig& c, TileInstruction&) { c.row_bytes[t] = 32; }), "") << "bytes of tile " << t;
  EXPECT_NE(fault([](TileConfig& c, TileInstruction&) { c.rows[6] = 8; }), "") << "rows of B";
  EXPECT_EQ(fault([](TileConfig& c, TileInstruction&) { c.rows[6] = 8, c.row_bytes[4] = 32; }), "") << "half of K";
  EXPECT_EQ(fault([](TileConfig& c, TileInstruction&) { c.row_bytes[0] = c.row_bytes[6] = 24; }), "") << "six columns";
  EXPECT_NE(fault([](TileConfig& c, TileInstruction&) { c.row_bytes[0] = c.row_bytes[6] = 22; }), "")
      << "half a column";
  const TileConfig none;
  for (Kind kind : {Kind::zero, Kind::load, Kind::store})
    EXPECT_EQ(instruction_fault({.kind = kind}, none), to_string(kind) + " without a configuration");
  for (Kind kind : {Kind::configure, Kind::store_configuration, Kind::release})
    EXPECT_EQ(instruction_fault({.kind = kind}, none), "");
}

}  // namespace
}  // namespace hone::test
