// hone cast: an array through a number format, and the codes and scales it was written with.
#include <gtest/gtest.h>

#include "base/json.h"
#include "formats/format.h"
#include "io/numpy.h"
#include "tests/cli/cli_fixture.h"

namespace hone {
namespace {

class Cast : public CliTest {
 protected:
  ProgramResult cast(const std::string& format, const Tensor& tensor, std::vector<std::string> more = {}) {
    write_npy(folder / "in.npy", tensor);
    std::vector<std::string> arguments{"cast", format, folder / "in.npy", "-o", out + "/out.npy"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return hone_program(arguments);
  }
  Tensor result() const { return read_npy(out + "/out.npy"); }
};

Tensor normal_values(std::vector<int64_t> shape) {
  Philox random(3);
  std::vector<float> values(static_cast<size_t>(element_count(shape)));
  for (float& v : values) v = random.normal();
  return Tensor::of<float>(shape, values);
}

TEST_F(Cast, EqualsTheLibraryForEveryKindOfFormat) {
  const Tensor x = normal_values({5, 70});
  for (const char* format :
       {"fp32", "bf16", "fp16", "fp8_e4m3", "int8.f4", "int4.g32", "mxint8", "mxfp6_e2m3", "mxfp4"}) {
    expect_done(cast(format, x));
    EXPECT_TRUE(result().same_bits(unpack(pack(parse_format(format), x)))) << format;
  }
}

// 1 is the largest of its block, so the scale is 1 (code 127) and codes count 1/64; -0.5 is -32 in two's complement.
TEST_F(Cast, CodesAndScalesOfABlockOfMxint8) {
  std::vector<float> values(32, 0.f);
  values[0] = 1, values[1] = -0.5f, values[2] = 1 / 64.f;
  expect_done(
      cast("mxint8", Tensor::of<float>({1, 32}, values), {"--codes", out + "/c.npy", "--scales", out + "/s.npy"}));
  const Tensor codes = read_npy(out + "/c.npy"), scales = read_npy(out + "/s.npy");
  EXPECT_EQ(codes.shape(), (std::vector<int64_t>{1, 32}));
  std::vector<int64_t> first = codes.to_integers();
  first.resize(4);
  EXPECT_EQ(first, (std::vector<int64_t>{64, 224, 1, 0}));
  EXPECT_EQ(scales.to_integers(), (std::vector<int64_t>{127}));
  EXPECT_EQ(result().to_floats(), values);
}

TEST_F(Cast, JsonSaysHowMuchWasLost) {
  const ProgramResult r = cast("int8.f4", Tensor::of<float>({2}, {1.0f, 100.0f}), {"--json"});
  expect_done(r);
  const Json json = parse_json(r.out, "stdout");
  EXPECT_EQ(json["cast"]["elements"], 2);
  EXPECT_EQ(json["cast"]["saturated"], 1);  // int8.f4 ends at 127 / 16
  EXPECT_NEAR(json["cast"]["max_abs_error"].get<double>(), 100 - 127 / 16.0, 1e-6);
}

TEST_F(Cast, SaysWhatBecameOfNan) {
  const ProgramResult r = cast("int8.f4", Tensor::of<float>({2}, {NAN, 1.0f}));
  expect_done(r);
  EXPECT_NE(r.out.find("int8.f4 has no NaN: 1 of 1 became 0"), std::string::npos) << r.out;
  EXPECT_EQ(result().to_floats(), (std::vector<float>{0, 1}));
}

TEST_F(Cast, OtherElementTypesOfTheInputAreRead) {
  expect_done(cast("mxint8", Tensor::of<double>({1, 2}, {1, 2})));
  EXPECT_EQ(result().to_floats(), (std::vector<float>{1, 2}));
}

TEST_F(Cast, FormatsWithoutScalesRefuseToWriteThem) {
  expect_refusal(cast("int8.f4", normal_values({4}), {"--scales", out + "/s.npy"}), {"int8.f4", "no scales"});
}

TEST_F(Cast, AFormatOfValuesOnlySaysSo) {
  const ProgramResult r = cast("bfp8.compat=mase", Tensor::of<float>({2}, {1.0f, 0.5f}));
  expect_done(r);
  EXPECT_NE(r.out.find("changes values only"), std::string::npos) << r.out;
  EXPECT_EQ(result().to_floats(), (std::vector<float>{0.9921875f, 0.5f}));
}

TEST_F(Cast, AFormatOfValuesOnlyHasNoCodesToWrite) {
  expect_refusal(cast("bfp8.compat=mase", normal_values({4}), {"--codes", out + "/c.npy"}),
                 {"bfp8.compat=mase", "no codes", "leave --codes out"});
}

// The largest magnitude, 6, becomes the largest element times the largest scale times the global one.
TEST_F(Cast, TheGlobalScaleOfNvfp4IsShown) {
  const ProgramResult r = cast("nvfp4", Tensor::of<float>({2}, {6.0f, -3.0f}), {"--json"});
  expect_done(r);
  EXPECT_FLOAT_EQ(parse_json(r.out, "stdout")["cast"]["global_scale"].get<float>(), 1 / 448.f);
  EXPECT_EQ(result().to_floats(), (std::vector<float>{6, -3}));
}

TEST_F(Cast, ZeroPointsAreWritten) {
  expect_done(cast("uint8.asym", Tensor::of<float>({3}, {-1.0f, 0.0f, 3.0f}), {"--zero-points", out + "/z.npy"}));
  EXPECT_EQ(read_npy(out + "/z.npy").to_integers(), (std::vector<int64_t>{64}));
}

TEST_F(Cast, BadArraysAreRefused) {
  const std::vector<std::string> tail{"-o", out + "/out.npy"};
  const auto cast_file = [&](const std::string& file) {
    return hone_program({"cast", "mxint8", file, "-o", out + "/out.npy"});
  };
  expect_refusal(cast_file(folder / "absent.npy"), {folder / "absent.npy"});
  expect_refusal(cast_file(folder.put("text.npy", "hello")), {"text.npy", "not a .npy file"});
  write_npy(folder / "whole.npy", normal_values({100}));
  const std::string whole = content_of(folder / "whole.npy");
  expect_refusal(cast_file(folder.put("cut.npy", whole.substr(0, whole.size() - 1))), {"cut.npy", "400 bytes"});
  expect_refusal(cast("mxint9", normal_values({4})), {"mxint9", "^"});
}

}  // namespace
}  // namespace hone
