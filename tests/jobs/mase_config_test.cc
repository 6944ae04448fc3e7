// A configuration of MASE gives a model the bits of the formats that it names.
#include "jobs/mase_config.h"

#include "formats/packed.h"
#include "ops/calls/fake_quant.h"
#include "ops/evaluate.h"
#include "tests/jobs/jobs_fixture.h"

namespace hone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kLinear = R"(graph net {
  %x : f32[N,2] = input "x"
  %w : f32[3,2] = const "fc.weight" {0.99,-1,0.3,1e-9,0.52,-1.97}
  %b : f32[3] = const "fc.bias" {0.99,0.26,-3}
  %y = linear %x, %w, %b
  %r = relu %y
  %v : f32[1,3] = const "head.weight" {0.99,0.26,-3}
  %z = linear %r, %v
  return %z as "logits"
})";

class MaseConfiguration : public JobsTest {
 protected:
  std::string put_config(const std::string& text) const { return folder.put("mase.toml", text); }
  std::string minifloat(const std::string& rest = "") const {
    return put_config(
        "[passes.quantize]\nby = 'type'\n[passes.quantize.linear.config]\nname = 'minifloat_ieee'\n"
        "data_in_width = 8\ndata_in_exponent_width = 4\nweight_width = 8\nweight_exponent_width = 4\n"
        "bias_width = 8\nbias_exponent_width = 4\n" +
        rest);
  }
  Model net() const { return load_model(put_graph("net.safetensors", kLinear)); }

  static std::vector<float> values(const Graph& graph, const char* name) {
    const Tensor& tensor = *graph.constant(graph.find_constant(name));
    return tensor.is_packed() ? unpack(tensor).to_floats() : tensor.to_floats();
  }
  static std::vector<float> rounded(const Graph& graph, const char* name, const char* format) {
    const Tensor* const x = graph.constant(graph.find_constant(name));
    return evaluate_node(fake_quant_def, {&x, 1}, {{"format", parse_format(format)}})[0].to_floats();
  }
};

TEST_F(MaseConfiguration, GivesTheBitsOfTheFormatsItNames) {
  for (const MaseBits bits : {MaseBits::sound, MaseBits::same}) {
    const Model model = net();
    QuantizeOptions options;
    options.rule = mase_quantization(model, minifloat(), bits).rule;
    const Graph after = quantize_model(model, options, std::nullopt).graph;
    const char* const format = bits == MaseBits::sound ? "minifloat_e4m3" : "minifloat_e4m3.compat=mase";
    for (const char* name : {"fc.weight", "fc.bias", "head.weight"})
      EXPECT_EQ(values(after, name), rounded(model.graph, name, format)) << name << " " << format;
    EXPECT_EQ(values(after, "fc.weight")[0], bits == MaseBits::sound ? 1.0f : 0.9375f);
    EXPECT_EQ(after.nodes(fake_quant_def).size(), 2);  // the inputs of both
  }
}

TEST_F(MaseConfiguration, SaysWhatBecameOfItsKeys) {
  const std::string prune =
      "[passes.prune.weight]\nscope = 'local'\ngranularity = 'elementwise'\nmethod = 'l1-norm'\nsparsity = 0.5\n";
  const std::string path = minifloat(prune);
  const MaseQuantization found = mase_quantization(net(), path, MaseBits::sound);
  EXPECT_THAT(found.rule,
              ElementsAre("op:linear=minifloat_e4m3", "op:linear.bias=minifloat_e4m3", "op:linear.in=minifloat_e4m3"));
  EXPECT_THAT(found.notes,
              testing::Contains(HasSubstr("passes.prune is not done here: hone prune MODEL --mase-config " + path +
                                          " -o FILE, after this")));
  EXPECT_THAT(mase_pruning(net(), path).notes, testing::Contains(HasSubstr("hone quantize MODEL")));
}

TEST_F(MaseConfiguration, PrunesAsItSays) {
  const MasePruning found = mase_pruning(
      net(), put_config("[passes.prune.weight]\nscope = 'global'\ngranularity = 'elementwise'\nmethod = 'l1-norm'\n"
                        "sparsity = 0.6\n[passes.prune.activation]\nsparsity = 0\n"));
  EXPECT_EQ(found.options.method, "l1");
  EXPECT_EQ(found.options.scope, "global");
  const PrunedGraph pruned = prune_weights(canonicalise(net().graph), found.options, {});
  int64_t gone = 0;
  for (const PrunedPart& part : pruned.parts) gone += part.gone;
  EXPECT_EQ(gone, 5);  // round(0.6 * 9)
}

TEST_F(MaseConfiguration, WithoutThePassIsRefused) {
  const std::string path = put_config("model = 'toy'\n");
  EXPECT_THAT(test::error_of([&] { mase_quantization(net(), path, MaseBits::sound); }),
              HasSubstr("has no table [passes.quantize]"));
  EXPECT_THAT(test::error_of([&] { mase_pruning(net(), path); }), HasSubstr("has no table [passes.prune]"));
}

}  // namespace
}  // namespace hone
