// What is written is compared with what was to be written; a difference is told by the constant or output that has it.
#include "jobs/verify_written.h"

#include "io/artefact.h"
#include "io/onnx/export_model.h"
#include "ir/bodies.h"
#include "jobs/save_model.h"
#include "tests/jobs/jobs_fixture.h"
#include "tests/support/branching_model.h"

namespace hone {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class VerifyWritten : public JobsTest {
 protected:
  static Graph linear(float first, const std::string& label = "w") {
    Graph graph;
    const ValueId x = graph.add_input("x", plain_type(DType::f32, {Dim::symbol("B"), 32}));
    Tensor w = test::waves({20, 32}, 1);
    w.mutable_as<float>()[0] = first;
    graph.add_output(graph.emit(ops::get("linear"), {x, graph.add_constant(label, w)}), "y");
    return graph;
  }
  static const ExporterDef& package() { return exporter_for("x.safetensors"); }
  static const ExporterDef& as_onnx() { return exporter_for("x.onnx"); }
  std::string file = folder / "m.safetensors", onnx = folder / "m.onnx";
};

TEST_F(VerifyWritten, TheSameGraphPasses) {
  save_artefact(file, linear(1), {{"a", "b"}});
  EXPECT_EQ(verify_written(package(), file, linear(1), {{"a", "b"}}),
            "opened again: 1 constants with the same bits; a short run gives the same bits");
  export_onnx(linear(1), onnx);
  EXPECT_THAT(verify_written(as_onnx(), onnx, linear(1)),
              AllOf(HasSubstr("1 constants decode to the same bits"), HasSubstr("a short run")));
}

TEST_F(VerifyWritten, AConstantWithAnotherBitIsNamed) {
  save_artefact(file, linear(1));
  EXPECT_THAT(error_of([&] { verify_written(package(), file, linear(std::nextafter(1.0f, 2.0f)), {}); }),
              HasSubstr("constant \"w\" has other bits"));
  export_onnx(linear(1), onnx);
  EXPECT_THAT(error_of([&] { verify_written(as_onnx(), onnx, linear(std::nextafter(1.0f, 2.0f))); }),
              HasSubstr("constant \"w\" decodes to other bits"));
}

// Blocks that do not divide the rows; scales that recognise_packed has no format for, so that codes stay codes.
TEST_F(VerifyWritten, PackedConstantsOfONNXAreComparedByWhatTheyDecodeTo) {
  for (const char* format :
       {"mxint8", "mxint4.g24", "int4.g24", "uint4.g24.asym", "int8.channel", "nvfp4", "int8.g5x3"}) {
    Graph graph = linear(1);
    const ValueId w = graph.find_constant("w");
    graph.set_constant(w, pack(parse_format(format), *graph.constant(w)));
    graph.reinfer();
    export_onnx(graph, onnx);
    EXPECT_THAT(verify_written(as_onnx(), onnx, graph), AllOf(HasSubstr("opened again: "), HasSubstr("a short run")))
        << format;
  }
}

TEST_F(VerifyWritten, SoIsOneOfABody) {
  Graph graph = test::branching_model(), other = graph;
  edit_bodies(other, [](Graph body) {
    if (const ValueId w = body.find_constant("w"); w != kNone) body.set_constant(w, test::waves({64, 8}, 99));
    return body;
  });
  save_artefact(file, graph);
  EXPECT_THAT(verify_written(package(), file, graph, {}), HasSubstr("11 constants with the same bits; a short run"));
  EXPECT_THAT(error_of([&] { verify_written(package(), file, other, {}); }),
              HasSubstr("constant \"w.2\" has other bits"));
  export_onnx(graph, onnx);
  EXPECT_THAT(verify_written(as_onnx(), onnx, graph), HasSubstr("a short run"));
}

TEST_F(VerifyWritten, AnotherGraphAndOtherFilesAreTold) {
  save_artefact(file, linear(1), {{"a", "b"}});
  EXPECT_THAT(error_of([&] {
                verify_written(package(), file, linear(1, "v"), {{"a", "b"}});
              }),
              HasSubstr("its graph is another"));
  EXPECT_THAT(error_of([&] {
                verify_written(package(), file, linear(1), {{"a", "c"}});
              }),
              HasSubstr("files that ride along"));
}

// A constant under another name is left to the run, which must then tell.
TEST_F(VerifyWritten, OutputsOfOnnxThatDifferAreTold) {
  export_onnx(linear(1), onnx);
  EXPECT_THAT(verify_written(as_onnx(), onnx, linear(1, "v")),
              HasSubstr("0 constants decode to the same bits, 1 stored in another form"));
  EXPECT_THAT(error_of([&] { verify_written(as_onnx(), onnx, linear(2, "v")); }),
              AllOf(HasSubstr("output \"y\" differs by"), HasSubstr("explained by rounding")));
}

TEST_F(VerifyWritten, WhatCannotBeRunIsNotRunAndTheReasonIsGiven) {
  const Graph text = test::parse(R"(
    %x : string[2] = input "x"
    %y : bool[2] = regex_full_match %x {pattern="a*"}
    return %y)");
  save_artefact(file, text);
  EXPECT_THAT(verify_written(package(), file, text, {}), HasSubstr("not run: input \"x\" holds text"));
}

TEST_F(VerifyWritten, ANotVerifiedFileIsNotPutInPlace) {
  const std::string place = folder / "out.safetensors";
  const Graph graph = test::parse(R"(
    %x : f32[2] = input "x"
    %w : string[1] = const "names" {"a"}
    return %x as "y", %w as "names")");
  EXPECT_THAT(error_of([&] { save_as_artefact(place, graph, {}); }),
              AllOf(HasSubstr(place + ": constant"), Not(HasSubstr("out.safetensors."))));
  EXPECT_EQ(folder.entries(), 1u);  // the encoder
  EXPECT_FALSE(std::filesystem::exists(place));
}

TEST_F(VerifyWritten, AReplacedFileStaysWhenTheNewOneFails) {
  const std::string place = folder.put("out.onnx", "old");
  EXPECT_THAT(error_of([&] { save_as_onnx(place, linear(1), {.opset = 99}); }), HasSubstr(place + ": opset 99"));
  std::ifstream stream(place);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stream), {}), "old");
}

TEST_F(VerifyWritten, BothFilesOfALargeOnnxModelArePutInPlace) {
  const SavedModel saved = save_as_onnx(onnx, linear(1), {.max_bytes = 100});
  EXPECT_THAT(saved.files, testing::ElementsAre(onnx, onnx + ".data"));
  int64_t bytes = 0;
  for (const std::string& each : saved.files) bytes += static_cast<int64_t>(std::filesystem::file_size(each));
  EXPECT_EQ(saved.bytes, bytes);
  EXPECT_EQ(folder.entries(), 3u);
  EXPECT_EQ(load_model(onnx).graph.outputs().size(), 1u);
}

TEST_F(VerifyWritten, FormatsThatGrowInOnnxAreTold) {
  Graph graph = linear(1);
  graph.set_constant(graph.find_constant("w"), pack(parse_format("mxint4"), test::waves({20, 32}, 1)));
  graph.reinfer();
  EXPECT_THAT(save_as_onnx(onnx, graph).notes, testing::ElementsAre(HasSubstr("mxint4 takes")));
  graph.set_constant(graph.find_constant("w"), pack(parse_format("int4.g32"), test::waves({20, 32}, 1)));
  graph.reinfer();
  EXPECT_THAT(save_as_onnx(onnx, graph).notes, testing::IsEmpty());
  graph.set_constant(graph.find_constant("w"), pack(parse_format("mxfp4"), test::waves({20, 32}, 1)));
  graph.reinfer();
  EXPECT_THAT(save_as_onnx(onnx, graph).notes, testing::Contains(HasSubstr("does not load")));
}

}  // namespace
}  // namespace hone
