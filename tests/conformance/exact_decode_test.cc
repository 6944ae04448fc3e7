// What kernels make of packed weights, bit by bit: products with rows of a unit matrix have the weights themselves for
// results. FORMATS.md 4.3 says in which order a format's two levels of scales are multiplied.
#include <bit>

#include "device/x86/gemm/shape.h"
#include "formats/packed.h"
#include "ops/registry.h"
#include "tests/conformance/conform.h"
#include "tests/support/op_case.h"

namespace hone::test {
namespace {

// Every code of a group of 16 under every code of its scale.
Tensor nvfp4_table(float global) {
  const Format format = parse_format("nvfp4");
  const std::vector<int64_t> shape{256, 16};
  std::vector<uint32_t> codes, scales;
  for (uint32_t row = 0; row < 256; ++row) {
    const bool is_negative_or_nan = row >= 0x7f;  // scales are neither
    scales.push_back(is_negative_or_nan ? 0x38 : row);
    for (uint32_t code = 0; code < 16; ++code) codes.push_back(code);
  }
  const Planes planes = planes_of(format, shape, codes, scales, {}, global);
  return Tensor::packed(format, shape, Buffer::copy_of(planes.codes), Buffer::copy_of(planes.scales),
                        Buffer::copy_of(planes.zero_points), Buffer::copy_of(planes.global));
}

constexpr float kGlobals[] = {1.f, 0.3f, 1.7e-5f, 0x1.fffffep-20f, 0x1p-126f, 1.234567e30f};

Tensor unit_rows(int64_t first, int64_t rows, int64_t columns, DType dtype) {
  std::vector<float> values(static_cast<size_t>(rows * columns), 0.f);
  for (int64_t i = 0; i < rows; ++i) values[static_cast<size_t>(i * columns + (first + i) % columns)] = 1;
  return Tensor::from_floats(dtype, {rows, columns}, values);
}

bool same_number(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// The weights as products with `rows` rows at a time give them.
void expect_products(const Tensor& weights, const std::vector<float>& want, int64_t rows, DType dtype) {
  Graph g;
  const int64_t columns = weights.dim(1), outputs = weights.dim(0);
  const ValueId x = g.add_input("x", {.dtype = dtype, .shape = {rows, columns}, .format = std::nullopt});
  g.add_output(g.emit(ops::get("linear"), {x, g.add_constant("w", weights)}), "y");
  for (const X86Target& target : target_levels()) {
    Session session(g, {.device = x86_device(target), .compute = Compute::f32, .cache_folder = kernel_folder()});
    for (int64_t first = 0; first < columns; first += rows) {
      const Tensor y = session.run({{"x", unit_rows(first, rows, columns, dtype)}})[0];
      const std::vector<float> got = y.to_floats();
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t n = 0; n < outputs; ++n) {
          const float w = want[static_cast<size_t>(n * columns + (first + i) % columns)];
          const float is = got[static_cast<size_t>(i * outputs + n)];
          ASSERT_TRUE(same_number(is, w)) << to_string(target) << ", " << rows << " rows: row " << n << ", code "
                                          << (first + i) % columns << " is " << is << " instead of " << w;
        }
    }
  }
}

TEST(ExactDecode, Nvfp4InF32ProductsIsThatOfTheFormat) {
  for (float global : kGlobals) {
    const Tensor weights = nvfp4_table(global);
    const std::vector<float> want = unpack(weights).to_floats();
    for (int64_t rows : {1, 4, 16, 48}) expect_products(weights, want, rows, DType::f32);
  }
}

// Few rows decode in the loop, where the scale of a group is at hand. More rows read bf16 pairs of code times group
// scale, which is exact: what is left is one multiplication by the tensor's scale, where the format rounds twice. So it
// is where the CPU's dot product multiplies pairs; where multiply-adds are faster than that, weights are decoded to
// f32.
TEST(ExactDecode, Nvfp4InBf16ProductsIsThatOfTheFormatOrRoundedOnce) {
  for (float global : kGlobals) {
    const Tensor weights = nvfp4_table(global);
    const std::vector<float> want = unpack(weights).to_floats();
    for (int64_t rows : {1, 4}) expect_products(weights, want, rows, DType::bf16);
    const std::vector<float> plain = unpack(nvfp4_table(1)).to_floats();  // code times group scale
    Graph g;
    const ValueId x = g.add_input("x", {.dtype = DType::bf16, .shape = {16, 16}, .format = std::nullopt});
    g.add_output(g.emit(ops::get("linear"), {x, g.add_constant("w", weights)}), "y");
    for (const char* rates : {"zen4", "sapphire_rapids"}) {
      const X86Target target(cpu_features(), microarchitecture(rates));
      const bool once = target.tile_unit(DType::bf16) || dot_pays(target, 16, 2);
      Session session(g, {.device = x86_device(target), .compute = Compute::f32, .cache_folder = kernel_folder()});
      const std::vector<float> got = session.run({{"x", unit_rows(0, 16, 16, DType::bf16)}})[0].to_floats();
      for (size_t n = 0; n < 256; ++n)
        for (size_t k = 0; k < 16; ++k)
          ASSERT_TRUE(same_number(got[k * 256 + n], once ? plain[n * 16 + k] * global : want[n * 16 + k]))
              << rates << ": row " << n << ", code " << k;
    }
  }
}

TEST(ExactDecode, TablesOfAllTwoLevelFormatsAreReadAsTheFormatHasThem) {
  std::vector<Tensor> tables;
  for (float global : kGlobals) tables.push_back(nvfp4_table(global));
  Philox rng(3);
  for (const char* format : {"rsign2", "rsign3", "uint4.g32.asym", "mxfp4", "mxint8", "bfp8", "nvfp4"})
    tables.push_back(random_packed(rng, {64, 64}, format));
  for (const Tensor& table : tables) {
    Graph g;
    const ValueId ids = g.add_input("ids", {.dtype = DType::i64, .shape = {table.dim(0)}, .format = std::nullopt});
    g.add_output(g.emit(ops::get("gather"), {g.add_constant("t", table), ids}, {{"axis", int64_t{0}}}), "y");
    std::vector<int64_t> all;
    for (int64_t i = 0; i < table.dim(0); ++i) all.push_back(i);
    const std::vector<float> want = unpack(table).to_floats();
    for (const X86Target& target : target_levels()) {
      Session session(g, {.device = x86_device(target), .compute = Compute::f32, .cache_folder = kernel_folder()});
      const std::vector<float> got = session.run({{"ids", Tensor::of<int64_t>({table.dim(0)}, all)}})[0].to_floats();
      for (size_t i = 0; i < want.size(); ++i)
        ASSERT_TRUE(same_number(got[i], want[i]))
            << to_string(*table.format()) << " on " << to_string(target) << " at " << i;
    }
  }
}

TEST(ExactDecode, OtherScaledFormatsInF32Products) {
  Philox rng(3);
  for (const char* format : {"mxfp4", "mxint8", "mxfp8_e4m3", "int4.g32", "int8.channel", "bfp8", "rsign2"}) {
    const Tensor weights = random_packed(rng, {40, 64}, format);
    for (int64_t rows : {1, 16}) expect_products(weights, unpack(weights).to_floats(), rows, DType::f32);
  }
}

}  // namespace
}  // namespace hone::test
