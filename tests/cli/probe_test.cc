// hone probe: every option of a measurement reaches the process that is started for it.
#include "jobs/probe.h"

#include <CLI/CLI.hpp>

#include "cli/flags.h"
#include "cli/option_flags.h"
#include "io/numpy.h"
#include "tests/cli/cli_fixture.h"

namespace hone {
namespace {

// What the verb probe takes, read as it reads it.
struct ReadBack : ModelFlags, ShapeFlags, RunFlags {
  std::string text, input_file;
  static std::span<const OptionField<ReadBack>> fields() {
    static const OptionField<ReadBack> own[] = {flag("text", "", &ReadBack::text),
                                                flag("input-file", "", &ReadBack::input_file)};
    static const auto all = joined_fields<ReadBack>(ModelFlags::fields(), ShapeFlags::fields(), RunFlags::fields(),
                                                    RunFlags::compute_fields(), own);
    return all;
  }
};

using testing::HasSubstr;

class Probe : public CliTest {
 protected:
  // What a program that is started with `options` finds on its command line, one argument a line.
  std::vector<std::string> arguments_for(const ProbeOptions& options) const {
    const std::string program =
        folder.put("program", "#!/bin/sh\nprintf '%s\\n' \"$@\" > " + folder / "arguments" +
                                  "\necho first result\necho '" + to_json(ProbeResult()).dump() + "'\n");
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    probe_in_new_process(program, options);
    std::ifstream file(folder / "arguments");
    std::vector<std::string> arguments;
    for (std::string line; std::getline(file, line);) arguments.push_back(line);
    return arguments;
  }
  ProbeOptions options_for(const std::string& path) const {
    ProbeOptions options;
    options.model = path;
    options.shapes.sequence = 16;
    options.session.cache_folder = folder / "cache";
    return options;
  }
};

// Read back by the options that the verb itself declares.
TEST_F(Probe, EveryOptionIsReadBackAsItWas) {
  ProbeOptions given;
  given.model = "some/model";
  given.inputs = {"input_ids", "attention_mask"};
  given.text = "a text, with 'quotes'";
  given.given = "some/inputs.npz";
  given.shapes = {.batch = 3, .sequence = 17, .dims = {{"B", 5}, {"S", 9}}};
  given.session.device = open_device("cpu:avx2");
  given.session.optimise = 1;
  given.session.threads = 2;
  given.session.compute = Compute::bf16;
  given.session.cache_folder = "some/cache";
  given.session.pipeline.disabled = {"recognise_gelu", "recognise_attention"};
  given.session.pipeline.verify = true;
  std::vector<std::string> arguments = arguments_for(given);
  ASSERT_EQ(arguments.at(0), "probe");

  CLI::App app;
  ReadBack read;
  GivenOptions words;
  add_fields(app, ReadBack::fields(), words);
  app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend() - 1));  // CLI11 takes them last first
  set_fields(ReadBack::fields(), read, words);
  EXPECT_EQ(read.model, given.model);
  EXPECT_EQ(read.inputs, given.inputs);
  EXPECT_EQ(read.text, given.text);
  EXPECT_EQ(read.input_file, given.given);
  const ShapeOptions shapes = read.shapes();
  EXPECT_EQ(shapes.batch, 3);
  EXPECT_EQ(shapes.sequence, 17);
  EXPECT_EQ(shapes.dims, given.shapes.dims);
  const SessionOptions session = read.session_options();
  ASSERT_NE(session.device, nullptr);
  EXPECT_EQ(text_of(*session.device), "cpu:avx2");
  EXPECT_EQ(session.optimise, 1);
  EXPECT_EQ(session.threads, 2);
  EXPECT_EQ(session.compute, Compute::bf16);
  EXPECT_EQ(session.cache_folder, given.session.cache_folder);
  EXPECT_EQ(session.pipeline.disabled, given.session.pipeline.disabled);
  EXPECT_TRUE(session.pipeline.verify);
}

TEST_F(Probe, DefaultsStayDefaults) {
  const std::vector<std::string> arguments = arguments_for(ProbeOptions());
  for (const char* absent :
       {"--seq", "--isa", "--compute", "--text", "--inputs", "--no-pass", "--cache", "--verify", "--input-file"})
    EXPECT_THAT(arguments, testing::Not(testing::Contains(std::string(absent)))) << absent;
  EXPECT_THAT(arguments, testing::Contains(std::string("--no-cache")));
}

TEST_F(Probe, TheSecondProcessFindsTheMachineCodeOfTheFirst) {
  const ProbeResult cold = probe_in_new_process(HONE_PROGRAM, options_for(model));
  const ProbeResult warm = probe_in_new_process(HONE_PROGRAM, options_for(model));
  EXPECT_GT(cold.kernels_compiled, 0);
  EXPECT_EQ(warm.kernels_compiled, 0);
  EXPECT_EQ(warm.kernels_cached, cold.kernels_compiled + cold.kernels_cached);
  EXPECT_EQ(warm.arena_bytes, cold.arena_bytes);
  for (const ProbeResult& r : {cold, warm}) {
    EXPECT_GT(r.first_result_ms, 0);
    EXPECT_GT(r.empty_bytes, 0);
    EXPECT_GE(r.peak_bytes, r.resident_bytes);
    EXPECT_GE(r.resident_bytes, r.anonymous_bytes);
  }
}

// An empty text is a text; one that begins with a dash is no option.
TEST_F(Probe, TextsOfAnyKindAreEmbedded) {
  std::filesystem::remove(model + "/vocab.txt");
  for (const char* text : {"a cat", "", "-x", "--batch"}) {
    ProbeOptions options = options_for(model);
    options.text = text;
    EXPECT_THAT(error_of([&] { probe_in_new_process(HONE_PROGRAM, options); }), HasSubstr("no tokenizer")) << text;
  }
  bert.write(model);
  for (const char* text : {"a cat", "", "-x", "--batch"}) {
    ProbeOptions options = options_for(model);
    options.text = text;
    EXPECT_GT(probe_in_new_process(HONE_PROGRAM, options).kernels_compiled, -1) << text;
    expect_done(hone_program({"embed", model, "--text", text, "-o", out + "/e.npy"}));
  }
}

TEST_F(Probe, ErrorsOfTheProcessAreOurs) {
  EXPECT_THAT(error_of([&] { probe_in_new_process(HONE_PROGRAM, options_for(folder / "absent")); }),
              testing::AllOf(HasSubstr(folder / "absent"), HasSubstr("no such file or folder")));
  ProbeOptions wrong = options_for(model);
  wrong.shapes.dims = {{"T", 3}};
  EXPECT_THAT(error_of([&] { probe_in_new_process(HONE_PROGRAM, wrong); }), HasSubstr("no dimension \"T\""));
}

}  // namespace
}  // namespace hone
