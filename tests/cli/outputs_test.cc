// No verb writes over what it reads, nor one file twice: refused before any work, under whatever name and link.
#include <gtest/gtest.h>

#include "base/atomic_file.h"
#include "io/numpy.h"
#include "tests/cli/cli_fixture.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

// A verb with its inputs in place of MODEL, TEXTS, …, and the flags that name a file to write.
struct Verb {
  std::vector<std::string> arguments;
  std::vector<std::string> inputs;   // files that it reads
  std::vector<std::string> outputs;  // flags; all are given, each a file of its own unless the test says otherwise
};

// Made once: no test changes them.
struct InputFiles {
  InputFiles() {
    bert.write(model);
    make({"quantize", model, "--to", "mxint8", "-o", small});
    make({"export", model, "-o", onnx});
    make({"build", "convnet", "-o", net});
    write_npy(array, Tensor(DType::f32, {4, 32}));
    write_npy(ids, Tensor(DType::i64, {1, 8}));
  }
  static void make(const std::vector<std::string>& command) {
    const ProgramResult result = hone_program(command);
    CHECK(result.exit_code == 0, "{}", result.err);
  }
  TinyBertFolder bert = tiny_bert();
  TemporaryFolder files;
  std::string model = files / "model";
  std::string small = files / "small.safetensors", onnx = files / "m.onnx", net = files / "net.safetensors";
  std::string array = files / "a.npy", ids = files / "ids.npy", texts = files.put("texts.txt", "one\ntwo\n");
  std::string config = files.put("q.toml", "to = \"mxint4\"\n"), build = files.put("b.json", R"({"model": "x"})");
  std::string weights = files.put("w.safetensors", "");
};

const InputFiles& made() {
  static const InputFiles files;
  return files;
}

class Outputs : public CliTest {
 protected:
  std::vector<Verb> verbs() const {
    const std::string folder_file = model + "/config.json";
    return {
        {{"quantize", small, "--to", "mxint4", "--calib", texts}, {small, texts}, {"-o .safetensors"}},
        {{"quantize", onnx, "--to", "int8", "--config", config}, {onnx, config}, {"-o .onnx"}},
        {{"quantize", model, "--to", "int8"}, {folder_file, model + "/vocab.txt"}, {"-o .safetensors"}},
        {{"squeeze", small, "--to", "mxint4", "--text-file", texts, "--config", config},
         {small, texts, config},
         {"-o .safetensors", "--report"}},
        {{"allocate", small, "--formats", "mxint4", "--budget", "avg-bits=5", "--calib", texts},
         {small, texts},
         {"-o", "--report", "--measurements"}},
        {{"bench", small, onnx, "--input", "input_ids=" + ids}, {small, onnx, ids}, {"--samples"}},
        {{"build", build, "--weights", weights}, {build, weights}, {"-o .safetensors"}},
        {{"cast", "mxint8", array}, {array}, {"-o", "--codes", "--scales"}},
        {{"compile", onnx}, {onnx}, {"-o .safetensors"}},
        {{"draw", onnx}, {onnx}, {"-o .dot"}},
        {{"embed", small, "--text-file", texts}, {small, texts}, {"-o"}},
        {{"export", small}, {small}, {"-o .onnx"}},
        {{"memory", small}, {small}, {"--report"}},
        {{"profile", small, onnx, "--input", "input_ids=" + ids}, {small, onnx, ids}, {"--report", "--trace"}},
    };
  }

  // "-o .onnx": a flag, and how the names that it takes end.
  static std::pair<std::string, std::string> flag_of(const std::string& output) {
    const size_t blank = output.find(' ');
    return {output.substr(0, blank), blank == std::string::npos ? "" : output.substr(blank + 1)};
  }

  // The verb with every output in a place of its own, but for `given`.
  std::vector<std::string> command(const Verb& verb, const std::map<std::string, std::string>& given) const {
    std::vector<std::string> all = verb.arguments;
    for (const std::string& output : verb.outputs) {
      const auto [flag, ending] = flag_of(output);
      const auto found = given.find(flag);
      all.push_back(flag);
      all.push_back(found == given.end() ? out + "/own" + std::to_string(all.size()) + ending : found->second);
    }
    return all;
  }

  // `path`, or where it has another ending than the flag takes a link to it that has.
  std::string named(const std::string& path, const std::string& ending) const {
    if (path.ends_with(ending)) return path;
    const std::string link = folder / "link" + ending;
    fs::remove(link);
    fs::create_symlink(path, link);
    return link;
  }

  const std::string &small = made().small, &onnx = made().onnx, &net = made().net, &array = made().array,
                    &ids = made().ids, &texts = made().texts, &config = made().config, &build = made().build,
                    &weights = made().weights;
};

TEST_F(Outputs, AreNoInputs) {
  for (const Verb& verb : verbs())
    for (const std::string& output : verb.outputs)
      for (const std::string& input : verb.inputs) {
        const auto [flag, ending] = flag_of(output);
        SCOPED_TRACE(fmt::format("{} {} {}", verb.arguments[0], flag, input));
        const std::string before = content_of(input);
        expect_refusal(hone_program(command(verb, {{flag, named(input, ending)}})), {"is read"});
        EXPECT_EQ(content_of(input), before);
      }
}

TEST_F(Outputs, AreNoHardLinksToInputs) {
  const std::string same = folder / "same.safetensors";
  fs::create_hard_link(small, same);
  expect_refusal(hone_program({"quantize", small, "--to", "mxint4", "-o", same}), {"is read as MODEL"});
}

TEST_F(Outputs, AreEachAFileOfTheirOwn) {
  for (const Verb& verb : verbs())
    for (size_t i = 0; i < verb.outputs.size(); ++i)
      for (size_t j = 0; j < i; ++j) {
        const auto [one, first_ending] = flag_of(verb.outputs[i]);
        const auto [other, second_ending] = flag_of(verb.outputs[j]);
        SCOPED_TRACE(fmt::format("{} {} {}", verb.arguments[0], one, other));
        const std::string same = out + "/same" + first_ending + second_ending;
        expect_refusal(
            hone_program(command(verb, {{one, same}, {other, out + "/./same" + first_ending + second_ending}})),
            {"same", "give each a file of its own"});
      }
}

TEST_F(Outputs, AReportIsNotTheWeightsBesideAnOnnxFile) {
  expect_refusal(
      hone_program({"squeeze", model, "--to", "int8", "-o", out + "/m.onnx", "--report", out + "/m.onnx.data"}),
      {"m.onnx.data", "give each a file of its own"});
}

TEST_F(Outputs, OfRunAreNotItsInputs) {
  const std::string inputs = folder / "inputs";
  fs::create_directories(inputs);
  const std::string input = inputs + "/logits.npy";
  write_npy(input, Tensor(DType::f32, {1, 3, 32, 32}));
  const std::string before = content_of(input);
  expect_refusal(hone_program({"run", net, "--no-cache", "--input", "pixel_values=" + input, "--output-dir", inputs}),
                 {"logits.npy", "is read as --input"});
  EXPECT_EQ(content_of(input), before);
}

// The one verb that may: it adds the code of another level.
TEST_F(Outputs, OfCompileMayBeItsModel) {
  const std::string file = folder / "net.safetensors";
  fs::copy_file(net, file);
  expect_done(hone_program({"compile", file, "-o", file, "--no-cache"}));
  EXPECT_GT(fs::file_size(file), fs::file_size(net));
}

TEST_F(Outputs, InTheModelsFolderTakeNoNameThatItIsReadBy) {
  expect_refusal(hone_program({"quantize", model, "--to", "mxint8", "-o", model + "/model.safetensors"}), {"is read"});
  expect_refusal(hone_program({"embed", model, "--text", "a", "-o", model + "/tokenizer.json"}), {"is part of"});
  const std::string beside = model + "/small.safetensors";
  for (int i = 0; i < 2; ++i) expect_done(hone_program({"quantize", model, "--to", "mxint8", "-o", beside}));
}

}  // namespace
}  // namespace hone
