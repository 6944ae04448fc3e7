#include "models/decoder_nodes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "models/token_inputs.h"
#include "ops/calls/attention.h"
#include "ops/calls/full.h"
#include "ops/evaluate.h"

namespace hone {
namespace {

// What a value is made of: constants alone; the mask, element by element; the mask or the length of the run in another
// way, as numbers of places are; or what each token has of its own.
enum class From : uint8_t { constants, mask, places, tokens };

using Names = std::span<const std::string_view>;
bool is_one_of(const OpDef& op, Names names) { return std::ranges::find(names, op.name) != names.end(); }

// Keep what belongs to a token with it as long as their results are [B,S,...] and an axis that they name is behind
// these two.
constexpr std::string_view kOfOneToken[] = {"cast",
                                            "cast_unsaturated",
                                            "identity",
                                            "dropout",
                                            "reshape",
                                            "squeeze",
                                            "unsqueeze",
                                            "flatten",
                                            "slice",
                                            "split",
                                            "concat",
                                            "expand",
                                            "transpose",
                                            "layer_norm",
                                            "rms_norm",
                                            "l2_normalise",
                                            "softmax",
                                            "log_softmax",
                                            "reduce_sum",
                                            "reduce_mean",
                                            "reduce_max",
                                            "reduce_min",
                                            "fake_quant",
                                            "round_to",
                                            "round_scaled",
                                            "quantize",
                                            "dequantize",
                                            "quantize_linear",
                                            "dequantize_linear",
                                            "quantize_dynamic"};
// Likewise, of activations and weights.
constexpr std::string_view kProducts[] = {"linear", "block_linear", "matmul", "dequantize_sums"};
constexpr std::string_view kOfMasks[] = {"cast", "identity", "unsqueeze", "reshape", "squeeze"};

class Reader {
 public:
  explicit Reader(const Graph& graph) : graph_(graph), from_(graph.value_capacity(), From::constants) {
    const ValueId ids = input_of(graph, "input_ids"), mask = input_of(graph, "attention_mask");
    const Shape& shape = graph.type(ids).shape;
    batch_ = shape[0], tokens_ = shape[1];
    if (!batch_.is_symbol() || !tokens_.is_symbol() || batch_ == tokens_ || graph.type(mask).shape != shape)
      fail("graph {}: input_ids are {} and attention_mask is {}; accepted: both i64[B,S] of two open sizes", graph.name,
           to_string(graph.type(ids)), to_string(graph.type(mask)));
    from(ids) = From::tokens, from(mask) = From::mask;
  }

  DecoderNodes run() {
    for (NodeId id : graph_.nodes()) {
      const From made_of = read(id);
      for (ValueId result : graph_.node(id).results) from(result) = made_of;
    }
    return std::move(nodes_);
  }

 private:
  From& from(ValueId id) { return from_[static_cast<size_t>(id)]; }
  From operand(NodeId id, size_t i) {
    const std::vector<ValueId>& all = graph_.node(id).operands;
    return i < all.size() && all[i] != kNone ? from(all[i]) : From::constants;
  }

  [[noreturn]] void refuse(NodeId id, const std::string& why) const {
    const Node& node = graph_.node(id);
    fail("graph {}: {} \"%{}\" {}", graph_.name, node.op->name, graph_.value(node.results[0]).name, why);
  }

  bool mentions(const Dim& dim, const Dim& symbol) const {
    std::vector<std::string> names;
    dim.collect_symbols(names);
    return std::ranges::find(names, symbol.to_string()) != names.end();
  }
  bool mentions(const TensorType& type, const Dim& symbol, size_t first) const {
    return std::any_of(type.shape.begin() + static_cast<ptrdiff_t>(std::min(first, type.rank())), type.shape.end(),
                       [&](const Dim& dim) { return mentions(dim, symbol); });
  }
  bool is_by_token(const TensorType& type) const {  // [B,S,...]
    return type.rank() >= 2 && type.shape[0] == batch_ && type.shape[1] == tokens_ && !mentions(type, batch_, 2) &&
           !mentions(type, tokens_, 2);
  }

  From read(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.op == &attention_def) return read_attention(id);
    From most = From::constants;
    for (size_t i = 0; i < node.operands.size(); ++i) most = std::max(most, operand(id, i));
    if (most == From::constants) return node.op != &full_def && has_length(id) ? From::places : most;
    if (most == From::mask) return node.op->pointwise || is_one_of(*node.op, kOfMasks) ? most : From::places;
    if (most == From::places && !is_float(graph_.type(node.results[0]).dtype)) return most;
    for (ValueId operand : node.operands)
      if (operand != kNone && from(operand) == From::places) find_positions(id, operand);
    expect_one_token(id);
    return From::tokens;
  }

  bool has_length(NodeId id) const {
    return std::ranges::any_of(graph_.node(id).results,
                               [&](ValueId result) { return mentions(graph_.type(result), tokens_, 0); });
  }

  // Whoever reads a number of places must read positions.
  void find_positions(NodeId reader, ValueId value) {
    const std::optional<int64_t> first =
        graph_.type(value).shape == Shape{batch_, tokens_} ? first_position(value) : std::nullopt;
    if (!first)
      refuse(reader, fmt::format("reads \"%{}\", which is made of attention_mask or of the length of a run; accepted: "
                                 "positions [{},{}] that count the tokens of each row, as a cumsum of attention_mask "
                                 "does",
                                 graph_.value(value).name, batch_.to_string(), tokens_.to_string()));
    nodes_.positions.push_back({value, *first});
    from(value) = From::tokens;
  }

  // Of the first token, where those behind it follow one by one, however rows are padded.
  std::optional<int64_t> first_position(ValueId value) const {
    const std::vector<int64_t> masks[] = {{1, 1, 1}, {0, 1, 1}, {1, 1, 0}, {0, 1, 0}};
    Graph alone = graph_;
    alone.set_outputs({{value, "positions"}});
    drop_unread(alone);
    std::optional<int64_t> first;
    for (const std::vector<int64_t>& mask : masks) {
      const std::vector<int64_t> shape{1, std::ssize(mask)};
      const std::map<std::string, Tensor> given{{"input_ids", Tensor(DType::i64, shape)},
                                                {"attention_mask", Tensor::of<int64_t>(shape, mask)}};
      const std::vector<double> found = evaluate(alone, given)[0].to_doubles();
      double count = 0;
      for (size_t s = 0; s < mask.size(); ++s) {
        if (mask[s] == 0) continue;
        const auto start = static_cast<int64_t>(found[s] - count++);
        if (start != first.value_or(start)) return std::nullopt;
        first = start;
      }
    }
    return first;
  }

  void expect_one_token(NodeId id) {
    const Node& node = graph_.node(id);
    const bool is_gather = std::string_view(node.op->name) == "gather", is_product = is_one_of(*node.op, kProducts);
    if (!node.op->pointwise && !is_gather && !is_product && !is_one_of(*node.op, kOfOneToken))
      refuse(id, "is no op that the cached form knows to be about one token");
    if (is_gather ? operand(id, 0) != From::constants : is_product && operand(id, 1) != From::constants)
      refuse(id, "multiplies or indexes values of tokens by each other; accepted: attention");
    for (ValueId result : node.results)
      if (const TensorType& type = graph_.type(result); !is_by_token(type))
        refuse(id, fmt::format("is {}; accepted of what tokens have: [{},{},...]", to_string(type), batch_.to_string(),
                               tokens_.to_string()));
    if (!is_gather) expect_axis_behind(id);
  }

  void expect_axis_behind(NodeId id) const {
    const Node& node = graph_.node(id);
    if (!node.attributes.has("axis")) return;
    const int64_t axis = node.attributes.get<int64_t>("axis"), rank = std::ssize(graph_.type(node.results[0]).shape);
    if ((axis < 0 ? axis + rank : axis) < 2) refuse(id, fmt::format("goes along axis {}, over tokens", axis));
  }

  From read_attention(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.attributes.get_or<int64_t>("causal", 0) == 0)
      refuse(id, "sees what is behind a token; accepted: causal=1");
    for (size_t i = 0; i < 3; ++i)
      if (!is_by_token(graph_.type(node.operands[i])))
        refuse(id, fmt::format("is of {}; accepted: queries, keys and values of the tokens of a run",
                               to_string(graph_.type(node.operands[i]))));
    if (operand(id, 4) != From::constants) refuse(id, "has sinks that are computed; accepted: constants");
    if (node.operands.size() > 3 && node.operands[3] != kNone && !hides_padding_alone(id))
      refuse(id, fmt::format("has the mask {}; accepted: [{},1,1,{}], made of attention_mask alone, or none",
                             to_string(graph_.type(node.operands[3])), batch_.to_string(), tokens_.to_string()));
    nodes_.attentions.push_back(id);
    return From::tokens;
  }

  bool hides_padding_alone(NodeId id) {
    const TensorType& type = graph_.type(graph_.operand(id, 3));
    return operand(id, 3) == From::mask && type.shape == Shape{batch_, 1, 1, tokens_};
  }

  const Graph& graph_;
  std::vector<From> from_;  // by value
  Dim batch_, tokens_;
  DecoderNodes nodes_;
};

}  // namespace

DecoderNodes decoder_nodes(const Graph& graph) { return Reader(graph).run(); }

void drop_unread(Graph& graph) {
  const std::vector<NodeId> order(graph.nodes().begin(), graph.nodes().end());
  for (size_t i = order.size(); i-- > 0;)
    if (std::ranges::all_of(graph.node(order[i]).results, [&](ValueId id) { return graph.use_count(id) == 0; }))
      graph.erase(order[i]);
  graph.erase_unused_constants();
}

}  // namespace hone
