#include "models/pre_norm_block.h"

#include "ops/calls/activations.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/attention.h"
#include "ops/calls/split.h"

namespace hone {
namespace {

class Emitter {
 public:
  Emitter(TransformerBuilder& builder, const PreNormBlock& block) : builder_(builder), block_(block) {}

  ValueId attention(ValueId x, ValueId mask) {
    const ValueId normed = norm(x, block_.attention_norm);
    const ValueId q = projected(normed, block_.query, block_.query_bias, "query");
    const ValueId k = projected(normed, block_.key, block_.key_bias, "key");
    const ValueId v = projected(normed, block_.value, block_.value_bias, "value");
    ops::Attention call{.q = q, .k = k, .v = v, .mask = mask, .heads = block_.heads};
    if (block_.causal) call.causal = 1;
    const ValueId context = ops::attention(graph(), call, named("context"));
    const ValueId mixed = builder_.linear(context, block_.attention_output, block_.hidden, block_.hidden);
    return ops::add(graph(), {scaled(mixed, block_.attention_scale), x}, named("attended"));
  }

  ValueId mlp(ValueId x) {
    const ValueId normed = norm(x, block_.mlp_norm);
    const int64_t width = block_.gated ? 2 * block_.intermediate : block_.intermediate;
    const ValueId up = builder_.linear(normed, block_.up, block_.hidden, width, named("up"));
    const ValueId active = block_.gated ? gated(up) : builder_.activation(up, block_.activation);
    const ValueId down = builder_.linear(active, block_.down, block_.intermediate, block_.hidden);
    return ops::add(graph(), {scaled(down, block_.mlp_scale), x}, named("output"));
  }

 private:
  Graph& graph() { return builder_.graph(); }
  std::string named(const char* part) const { return block_.label + "_" + part; }

  ValueId norm(ValueId x, const std::string& name) {
    return builder_.layer_norm(x, name, block_.hidden, block_.epsilon);
  }
  ValueId projected(ValueId x, const std::string& name, bool biased, const char* part) {
    const int64_t hidden = block_.hidden;
    return biased ? builder_.linear(x, name, hidden, hidden, named(part))
                  : builder_.unbiased_linear(x, name, hidden, hidden, named(part));
  }
  ValueId scaled(ValueId x, const std::string& name) {
    if (name.empty()) return x;
    return ops::mul(graph(), {x, builder_.as_f32(builder_.weight(name, {block_.hidden}))});
  }
  ValueId gated(ValueId up) {
    const Shape halves{block_.intermediate, block_.intermediate};
    const std::vector<ValueId> parts = ops::split(graph(), {.x = up, .axis = 2, .sizes = halves});
    return ops::mul(graph(), {ops::silu(graph(), {.x = parts[0]}), parts[1]});
  }

  TransformerBuilder& builder_;
  const PreNormBlock& block_;
};

}  // namespace

ValueId pre_norm_block(TransformerBuilder& builder, ValueId x, ValueId mask, const PreNormBlock& block) {
  Emitter emitter(builder, block);
  return emitter.mlp(emitter.attention(x, mask));
}

}  // namespace hone
