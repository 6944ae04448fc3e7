// The node tests in tests/data/onnx.tar, whose results come from other systems (bench/peers/onnx_fixtures.py), and how
// far a result may be from what a case expects.
#include "jobs/onnx_test.h"

#include <gtest/gtest.h>

#include <bit>
#include <filesystem>

#include "base/atomic_file.h"
#include "io/onnx/export_model.h"
#include "ops/registry.h"
#include "tests/io/temporary_folder.h"
#include "tests/support/paths.h"

namespace hone {
namespace {

void expect_none_wrong(OnnxTestOptions options) {
  const OnnxTestResult result = run_onnx_tests({test::kOnnxCases}, options);
  EXPECT_GT(result.pass, 500);
  for (const OnnxCase& each : result.cases)
    EXPECT_NE(each.result, OnnxCase::Result::wrong) << each.name << ": " << each.reason;
}

TEST(OnnxTest, NoResultIsWrongAsTheFileHasIt) { expect_none_wrong({.session = {.optimise = 0}}); }
TEST(OnnxTest, NoResultIsWrongCompiled) { expect_none_wrong({.session = {.optimise = 2}}); }

// A TensorProto of one element: dims, data_type, raw_data.
template <class Bits>
std::string one_element(char data_type, Bits bits) {
  return std::string{'\x08', 1, '\x10', data_type, '\x4a', static_cast<char>(sizeof bits)} +
         std::string(reinterpret_cast<const char*>(&bits), sizeof bits);
}

// A case that negates one value and expects the negated value, off by `units` in its last place.
template <class Bits>
OnnxCase off_by(const std::string& folder, DType dtype, char data_type, Bits value, int units) {
  Graph graph;
  graph.add_output(graph.emit(ops::get("neg"), {graph.add_input("x", TensorType{dtype, {1}, {}})}), "y");
  const std::string data = folder + "/test_data_set_0";
  std::filesystem::create_directories(data);
  export_onnx(graph, folder + "/model.onnx");
  constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
  write_file(data + "/input_0.pb", one_element(data_type, value));
  write_file(data + "/output_0.pb", one_element(data_type, static_cast<Bits>((value | kSign) + units)));
  return run_onnx_case(folder, {});
}

// The smallest fraction, where a unit in the last place is largest beside the value.
TEST(OnnxTest, FloatsOf16BitsMayBeTwoUnitsAway) {
  const TemporaryFolder folder;
  using Result = OnnxCase::Result;
  for (const auto& [dtype, data_type, value] :
       {std::tuple(DType::bf16, '\x10', uint16_t{0x3f80}), std::tuple(DType::f16, '\x0a', uint16_t{0x3c00})}) {
    for (int units : {0, 1, 2, -1, -2})
      EXPECT_EQ(off_by(folder / "case", dtype, data_type, value, units).result, Result::pass) << units;
    for (int units : {4, -6}) {  // below a power of two, units are half as large
      const OnnxCase result = off_by(folder / "case", dtype, data_type, value, units);
      EXPECT_EQ(result.result, Result::wrong) << units << result.reason;
    }
  }
  const auto one = std::bit_cast<uint32_t>(1.0f);
  EXPECT_EQ(off_by(folder / "case", DType::f32, '\x01', one, 8000).result,
            Result::pass);  // 1e-3, as the standard's runner
  EXPECT_EQ(off_by(folder / "case", DType::f32, '\x01', one, 9000).result, Result::wrong);
}

}  // namespace
}  // namespace hone
