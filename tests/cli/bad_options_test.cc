// Wrong words on the command line and in configuration files: what was found, where, and what to type instead.
#include <gtest/gtest.h>

#include "tests/cli/cli_fixture.h"

namespace hone {
namespace {

class BadOptions : public CliTest {
 protected:
  ProgramResult quantize(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"quantize", model, "-o", out + "/q.safetensors"});
    return hone_program(arguments);
  }
  ProgramResult quantize_with(const std::string& toml) { return quantize({"--config", folder.put("q.toml", toml)}); }
  ProgramResult embed(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"embed", model, "-o", out + "/e.npy"});
    return hone_program(arguments);
  }
};

TEST_F(BadOptions, UnknownVerbSuggestsTheNearest) {
  expect_refusal(hone_program({"quantise", model}), {"unknown command 'quantise'", "Did you mean quantize?"}, 2);
}

TEST_F(BadOptions, UsageErrorsExitWithTwo) {
  expect_refusal(hone_program({}), {"subcommand is required", "--help"}, 2);
  expect_refusal(hone_program({"info"}), {"MODEL is required"}, 2);
  expect_refusal(hone_program({"quantize", model}), {"--output is required"}, 2);
  expect_refusal(hone_program({"cast", "mxint8"}), {"required"}, 2);
  expect_refusal(hone_program({"info", model, "--frobnicate"}), {"--frobnicate"}, 2);
  expect_refusal(embed({"--text", "x", "--threads", "0"}), {"--threads", "1 to 1024"}, 2);
  expect_refusal(embed({"--text", "x", "--threads", "two"}), {"--threads", "two"}, 2);
  expect_refusal(embed({"--text", "x", "-O", "3"}), {"0 to 2"}, 2);
  expect_refusal(embed({"--text", "x", "--backend", "gpu"}), {"--backend", "cpu", "reference"}, 2);
  expect_refusal(hone_program({"bench", model, "--seconds", "-1"}), {"--seconds"}, 2);
}

// A flag with a value takes one word, so that the model may stand behind it; a text that is empty is as if not given.
TEST_F(BadOptions, FlagsMayStandBeforeTheModel) {
  const ProgramResult before = hone_program({"info", "--batch", "2", model, "--json"});
  expect_done(before);
  EXPECT_EQ(before.out, hone_program({"info", model, "--batch", "2", "--json"}).out);
  expect_refusal(hone_program({"train", model, "--data", "x", "-o", out + "/t.safetensors", "--seed", "-1"}), {"seed"},
                 2);
  expect_done(embed({"--device", "", "--text", "x"}));
}

TEST_F(BadOptions, OfDevicesThatContradictEachOther) {
  expect_refusal(embed({"--text", "x", "--backend", "reference", "--isa", "avx2"}),
                 {"--backend reference", "--isa avx2", "leave one of them out"});
  expect_refusal(embed({"--text", "x", "--device", "reference", "--no-fallback"}), {"--no-fallback", "reference"});
  expect_refusal(embed({"--text", "x", "-O", "1", "--no-fallback"}), {"--no-fallback", "-O1"});
}

// Numbers that wrap, overflow or are none: wrong usage, whichever verb takes them.
TEST_F(BadOptions, NumbersHaveARange) {
  const std::vector<std::string> bad{"-1", "99999999999999999999999", "1e300", "nan", "", "x"};
  for (const std::string& value : bad) {
    for (const char* verb : {"run", "bench", "profile"})
      for (const char* flag : {"--batch", "--seq", "--threads", "--seed"})
        expect_refusal(hone_program({verb, model, flag, value}), {flag}, 2);
    for (const char* verb : {"bench", "profile"})
      expect_refusal(hone_program({verb, model, "--seconds", value}), {"--seconds"}, 2);
    expect_refusal(hone_program({"formats", "--seed", value}), {"--seed"}, 2);
    expect_refusal(hone_program({"build", "mlp", "-o", out + "/m.safetensors", "--seed", value}), {"--seed"}, 2);
    expect_refusal(embed({"--text", "x", "--batch", value}), {"--batch"}, 2);
    for (const char* flag : {"--trials", "--seconds", "--lambda"})
      expect_refusal(hone_program({"allocate", model, "--formats", "mxint4", "-o", out + "/p.toml", flag, value}),
                     {flag}, 2);
    if (!value.empty())
      expect_refusal(hone_program({"export", model, "-o", out + "/m.onnx", "--opset", value}), {"opset"},
                     value == "-1" ? 1 : 2);
    expect_refusal(hone_program({"info", model, "--dim", "S=" + value}), {"whole number"});
  }
  for (const char* size : {"0", "4611686018427387904"})
    expect_refusal(hone_program({"run", model, "--batch", size}), {"--batch"}, 2);
  expect_refusal(hone_program({"run", model, "--batch", "1099511627776", "--no-cache"}), {"memory"});
}

TEST_F(BadOptions, HelpOfEveryVerbHasExamples) {
  for (const char* verb : {"bench", "cast", "draw", "embed", "export", "formats", "info", "lora", "passes", "print",
                           "prune", "quantize", "run", "train"}) {
    const ProgramResult result = hone_program({verb, "--help"});
    expect_done(result);
    EXPECT_THAT(result.out, testing::HasSubstr(fmt::format("Examples:\n  hone {}", verb)));
    EXPECT_EQ(result.err, "");
  }
}

TEST_F(BadOptions, UnknownFormatsPointAtTheCharacter) {
  expect_refusal(quantize({"--to", "mxint9"}), {"'mxint9'", "\n  mxint9\n       ^"});
  expect_refusal(quantize({"--to", "mxitn8"}), {"'mxitn8'", "\n  mxitn8\n", "^"});
  expect_refusal(quantize({"--to", "int4.g0"}), {"int4.g0", "^"});
  expect_refusal(quantize({"--to", ""}), {"format"});
}

TEST_F(BadOptions, RulesThatMatchNothingSayWhatThereIs) {
  expect_refusal(quantize({"--to", "mxint8", "--rule", "layr=mxint4"}), {"\"layr=mxint4\" matches nothing"});
  expect_refusal(quantize({"--to", "mxint8", "--rule", "op:gathr=mxint4"}), {"op:gathr", "Did you mean gather?"});
  expect_refusal(quantize({"--to", "mxint8", "--rule", "layer=mxint99"}), {"mxint99", "^"});
  expect_refusal(quantize({"--to", "mxint8", "--rule", "layer"}), {"layer", "="});
  expect_refusal(quantize({"--to", "mxint8", "--rule", "layer(=mxint4"}), {"layer("});
}

TEST_F(BadOptions, NothingToDoIsAnError) { expect_refusal(quantize({}), {"nothing to quantize", "to, e.g. mxint8"}); }

TEST_F(BadOptions, MalformedTomlNamesLineAndColumn) {
  const std::string file = folder / "q.toml";
  expect_refusal(quantize_with("to = \"mxint8\"\nrule = [\"a=keep\"\nskip = 3\n"), {file + ":3:"});
  expect_refusal(quantize_with("to = mxint8\n"), {file + ":1:"});
  expect_refusal(quantize_with("to = \"mxint8\"\nto = \"mxint4\"\n"), {file + ":2:", "to"});
  expect_refusal(quantize_with("to = \"\xff\"\n"), {file + ":1:"});
}

TEST_F(BadOptions, UnknownKeysInTomlNameTheFileAndTheNearest) {
  expect_refusal(quantize_with("tu = \"mxint8\"\n"), {folder / "q.toml", "tu", "Did you mean to?"});
  expect_refusal(quantize_with("[quantize]\nto = \"mxint8\"\nrulle = [\"x=keep\"]\n"),
                 {folder / "q.toml", "rulle", "Did you mean rule?"});
}

TEST_F(BadOptions, WrongValuesInTomlNameTheFile) {
  expect_refusal(quantize_with("to = 3\n"), {"'3'"});
  expect_refusal(quantize_with("to = [\"mxint8\", \"mxint4\"]\n"), {folder / "q.toml", "to"});
  expect_refusal(quantize({"--config", folder / "absent.toml"}), {folder / "absent.toml"});
  expect_refusal(quantize_with("to = \"mxint4\"\nmethod = \"gptq\"\ncalib = \"gone.txt\"\n"),
                 {folder / "q.toml", folder / "gone.txt", "not there", "--calib"});
  expect_refusal(quantize_with("to = \"mxint4\"\ncalib-batch = 0\n"), {folder / "q.toml", "calib-batch", "\"0\""});
}

TEST_F(BadOptions, UnknownNamesOfTheEngine) {
  expect_refusal(embed({"--text", "x", "--isa", "avx3"}), {"avx3", "one of avx2"});
  expect_refusal(embed({"--text", "x", "--isa", "avx2+sse9"}), {"avx2+sse9", "'sse9' is unknown", "avx512_bf16"});
  expect_refusal(embed({"--text", "x", "--isa", "host-avx2"}), {"host-avx2", "needs avx2"});
  expect_refusal(embed({"--text", "x", "--compute", "fp8"}), {"fp8", "f32, bf16"});
  expect_refusal(embed({"--text", "x", "--no-pass", "fold_constant"}), {"fold_constant", "fold_constants"});
  expect_refusal(embed({"--text", "x", "--print-after", "fold_constant"}), {"fold_constant", "fold_constants"});
  expect_refusal(quantize({"--to", "mxint8", "--compute", "int3"}), {"int3", "f32, bf16"});
}

TEST_F(BadOptions, OptionsOfPasses) {
  const auto print = [&](const char* pass, const char* option) {
    return hone_program({"print", model, "--pass", pass, "--pass-option", option});
  };
  expect_refusal(print("smooth_qant", "smooth_quant.alpha=1"), {"smooth_qant", "Did you mean smooth_quant"});
  expect_refusal(print("smooth_quant", "smooth_quant.alpa=1"), {"unknown option alpa", "Did you mean alpha"});
  expect_refusal(print("smooth_quant", "smooth_quant.alpha=x"), {"alpha: expected a number, found \"x\""});
  expect_refusal(print("smooth_quant", "smooth_quant.alpha"), {"expected PASS.OPTION=VALUE"});
  expect_refusal(print("smooth_quant", "quantize.to=int4"), {"need calibration data"});
  expect_refusal(print("remove_dead", "smooth_quant.alpha=1"), {"options of pass smooth_quant", "nothing that runs"});
  expect_refusal(hone_program({"print", model, "--pass", "set_compute"}), {"set_compute needs", "set_compute.compute"});
  expect_refusal(hone_program({"print", model, "--pass-option", "quantize.to=int4"}), {"options of pass quantize"});
  expect_refusal(quantize_with("to = \"mxint4\"\n[smooth_quant]\nalpa = 1\n"),
                 {folder / "q.toml", "pass smooth_quant: unknown option alpa", "Did you mean alpha"});
  expect_refusal(quantize({"--to", "mxint4", "--damping", "0"}), {"damping is 0", "above 0"});
}

TEST_F(BadOptions, UnknownGraphInputsNameTheNearest) {
  expect_refusal(hone_program({"info", model, "--inputs", "input_idz"}), {"input_idz", "Did you mean input_ids?"});
  expect_refusal(hone_program({"info", model, "--inputs", "input_ids,labels"}), {"labels", "input_ids"});
  expect_refusal(hone_program({"info", model, "--inputs", "attention_mask"}), {"lack input_ids"});
}

TEST_F(BadOptions, UnknownDimensionsNameTheModels) {
  expect_refusal(hone_program({"info", model, "--dim", "T=3"}), {"\"T\"", "B, S"});
  expect_refusal(hone_program({"info", model, "--dim", "S=x"}), {"S=x", "whole number"});
  expect_refusal(hone_program({"info", model, "--dim", "S"}), {"name=value"});
  expect_refusal(hone_program({"info", model, "--batch", "0"}), {"--batch", "0"}, 2);
}

TEST_F(BadOptions, LongerThanTheModelKnowsPositions) {
  expect_refusal(hone_program({"info", model, "--seq", "65"}), {"65", "64"});
  expect_refusal(hone_program({"bench", model, "--seq", "65", "--seconds", "0.1", "--no-probe"}), {"65", "64"});
}

}  // namespace
}  // namespace hone
