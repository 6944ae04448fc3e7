// with_cache: the form of a decoder that keeps keys and values. Tokens of each row move to its front, so that what is
// appended lies side by side; each attention reads pages under a mask by lengths; positions go on where the run before
// ended.
#include <algorithm>
#include <map>
#include <optional>

#include "base/error.h"
#include "models/decoder.h"
#include "models/decoder_nodes.h"
#include "models/token_inputs.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/attention.h"
#include "ops/calls/block_linear.h"
#include "ops/calls/cache_append.h"
#include "ops/calls/cast.h"
#include "ops/calls/comparison.h"
#include "ops/calls/full.h"
#include "ops/calls/gather.h"
#include "ops/calls/linear.h"
#include "ops/calls/matmul.h"
#include "ops/calls/quantize.h"
#include "ops/calls/reduce.h"
#include "ops/calls/reshape.h"
#include "ops/calls/slice.h"
#include "ops/head_rows.h"
#include "ops/page_rows.h"
#include "passes/match.h"

namespace hone {
namespace {

// What pages hold: elements as they are, or codes.
struct PageType {
  DType dtype = DType::f32;
  std::optional<Format> format;
};

PageType page_type(const std::string& type) {
  if (type == "f32") return {};
  if (type == "bf16") return {.dtype = DType::bf16, .format = {}};
  std::optional<Format> format;
  try {
    format = parse_format(type);
    if (dtype_of_plain_format(*format)) fail("it is a plain element type");
    expect_rows_alone(*format);
  } catch (const Error& error) {
    fail("keys and values as \"{}\": {}; accepted: f32, bf16, and formats with scales for each row, e.g. int8.g64",
         type, error.what());
  }
  return {.dtype = DType::f32, .format = format};
}

// A size that the graph has no name for yet.
Dim new_symbol(const Graph& graph, std::string name) {
  const std::vector<std::string> taken = graph.symbols();
  while (std::ranges::find(taken, name) != taken.end()) name += '_';
  return Dim::symbol(name);
}

class CachedForm {
 public:
  CachedForm(const Graph& decoder, const CacheOptions& options)
      : graph_(decoder), nodes_(decoder_nodes(decoder)), page_(page_type(options.type)), options_(options) {
    if (options.page_rows < 1 || options.page_rows > 65536)
      fail("pages of {} tokens; accepted: 1 to 65536", options.page_rows);
    const Shape& shape = graph_.type(input_of(graph_, "input_ids")).shape;
    batch_ = shape[0], tokens_ = shape[1];
  }

  CachedDecoder build() {
    graph_.set_insertion_point(graph_.nodes().front());
    add_states();
    move_tokens_to_front();
    for (const DecoderNodes::Positions& positions : nodes_.positions) go_on_counting(positions);
    for (size_t i = 0; i < nodes_.attentions.size(); ++i) cache(nodes_.attentions[i], std::to_string(i));
    finish_logits();
    grow_lengths();
    for (const auto& [state, value] : appended_) graph_.add_update(state, value);
    drop_unread(graph_);
    return {std::move(graph_), std::move(pages_)};
  }

 private:
  ValueId integers(Shape shape, size_t axis = 0) {
    return ops::iota(graph_, {.shape = std::move(shape), .axis = static_cast<int64_t>(axis)});
  }
  ValueId view(ValueId x, Shape shape) { return ops::reshape(graph_, {.x = x, .shape = std::move(shape)}); }
  ValueId column(ValueId x, const Dim& at) {  // [B,S] → [B,1]
    return ops::slice(graph_, {.x = x, .starts = Shape{at}, .ends = Shape{at + 1}, .axes = std::vector<int64_t>{1}});
  }
  ValueId as(ValueId x, DType dtype) {
    return graph_.type(x).dtype == dtype && !graph_.type(x).is_packed() ? x
                                                                        : ops::cast(graph_, {.x = x, .dtype = dtype});
  }
  TensorType i64(Shape shape) const { return {.dtype = DType::i64, .shape = std::move(shape), .format = {}}; }

  void add_states() {
    sequences_ = new_symbol(graph_, "N"), columns_ = new_symbol(graph_, "T"), count_ = new_symbol(graph_, "P");
    slots_ = graph_.add_input("slots", i64({batch_}));
    table_ = graph_.add_state(kCacheTable, i64({sequences_, columns_}));
    lengths_ = graph_.add_state(kCacheLengths, i64({sequences_}));
    rows_ = ops::gather(graph_, {.table = table_, .indices = slots_});
    before_ = ops::gather(graph_, {.table = lengths_, .indices = slots_}, "tokens_before");
  }

  // Ids and mask as if rows were padded behind. Row `order_[b,s]` of all B·S is token s of row b; where it came from,
  // `back_` finds it.
  void move_tokens_to_front() {
    const ValueId ids = input_of(graph_, "input_ids"), mask = input_of(graph_, "attention_mask");
    const std::vector<Graph::Use> of_ids = graph_.uses(ids), of_mask = graph_.uses(mask);
    const std::vector<int64_t> along{1};
    const ValueId is_token = as(ops::not_equal(graph_, {mask, graph_.add_scalar(int64_t{0})}), DType::i64);
    const ValueId step = integers({tokens_}), one = graph_.add_scalar(int64_t{1});
    counts_ = ops::reduce_sum(graph_, {.x = is_token, .axes = along, .keepdims = 1}, "tokens_of_row");
    const ValueId last =
        ops::reduce_max(graph_, {.x = ops::mul(graph_, {is_token, step}), .axes = along, .keepdims = 1});
    const ValueId ahead = ops::sub(graph_, {ops::add(graph_, {last, one}), counts_});  // padding in front
    const ValueId all = view(integers({batch_ * tokens_}), {batch_, tokens_});
    const ValueId begin = column(all, 0), end = column(all, tokens_ - 1);
    order_ = ops::min(graph_, {ops::add(graph_, {all, ahead}), end});
    back_ = ops::max(graph_, {ops::sub(graph_, {all, ahead}), begin});
    const ValueId none = graph_.add_scalar(int64_t{0});
    last_ = ops::add(graph_, {begin, ops::max(graph_, {ops::sub(graph_, {counts_, one}), none})});
    const ValueId moved_ids =
        ops::gather(graph_, {.table = view(ids, {batch_ * tokens_}), .indices = order_}, "ids_in_front");
    const ValueId moved_mask = as(ops::less(graph_, {step, counts_}), DType::i64);
    for (const Graph::Use& use : of_ids) graph_.set_operand(use.node, use.operand, moved_ids);
    for (const Graph::Use& use : of_mask) graph_.set_operand(use.node, use.operand, moved_mask);
  }

  // Positions count the tokens of runs before as well.
  void go_on_counting(const DecoderNodes::Positions& positions) {
    const ValueId place = ops::add(graph_, {view(before_, {batch_, 1}), integers({tokens_})}, "places");
    const ValueId counted = ops::add(graph_, {place, graph_.add_scalar(positions.first)});
    graph_.replace_all_uses(positions.value, as(counted, graph_.type(positions.value).dtype));
  }

  // A query sees the tokens before it and itself, no more than `reach` before where there is a window.
  ValueId seen(std::optional<int64_t> reach) {
    const auto found = seen_.find(reach);
    if (found != seen_.end()) return found->second;
    const ValueId own = ops::add(graph_, {view(before_, {batch_, 1, 1, 1}), integers({tokens_, 1})});
    const ValueId key = integers({columns_ * options_.page_rows});
    ValueId mask = ops::less_or_equal(graph_, {key, own});
    if (reach) {
      const ValueId first = ops::sub(graph_, {own, graph_.add_scalar(*reach)});
      mask = ops::logical_and(graph_, {mask, ops::greater_or_equal(graph_, {key, first})});
    }
    return seen_[reach] = mask;
  }

  void expect_heads(NodeId id, int64_t heads, const TensorType& rows) const {
    if (!page_.format || head_rows(*page_.format, heads, rows.shape[2].constant() / heads)) return;
    const int64_t columns = rows.shape[2].constant() / heads;
    fail(
        "keys and values as \"{}\": attention \"%{}\" has {} heads of {} columns, which groups neither divide nor "
        "hold evenly; accepted: f32, bf16, and formats of such groups{}",
        options_.type, graph_.value(graph_.result(id)).name, heads, columns,
        columns % 16 == 0 ? fmt::format(", e.g. int8.g{}", columns) : "");
  }

  // All rows of the sequences, the new ones behind the others: [B,T·R,columns].
  ValueId appended(ValueId x, const std::string& label) {
    const ValueId rows =
        page_.format ? ops::quantize(graph_, {.x = as(x, DType::f32), .format = *page_.format}) : as(x, page_.dtype);
    const Dim width = graph_.type(x).shape[2];
    const ValueId pages = graph_.add_state(
        label, {.dtype = page_.dtype, .shape = {count_, options_.page_rows, width}, .format = page_.format});
    const ValueId all = ops::cache_append(graph_, {.pages = pages, .rows = rows, .table = rows_, .lengths = before_});
    appended_.emplace_back(pages, all), pages_.push_back(label);
    return view(ops::gather(graph_, {.table = all, .indices = rows_}), {batch_, columns_ * options_.page_rows, width});
  }

  void cache(NodeId id, const std::string& layer) {
    const Node node = graph_.node(id);
    Attributes attributes = node.attributes;
    const int64_t heads = attributes.get<int64_t>("heads"), kv_heads = attributes.get_or<int64_t>("kv_heads", heads);
    for (size_t i : {1, 2}) expect_heads(id, kv_heads, graph_.type(node.operands[i]));
    const std::optional<int64_t> reach =
        attributes.has("before") ? std::optional(attributes.get<int64_t>("before")) : std::nullopt;
    for (const char* by_place : {"causal", "from_start", "before", "behind"}) attributes.erase(by_place);
    graph_.set_insertion_point(id);
    const ValueId mask = seen(reach);
    const ValueId q = as(node.operands[0], page_.dtype);  // kernels read operands of one type
    const ValueId k = appended(node.operands[1], layer + ".keys"), v = appended(node.operands[2], layer + ".values");
    const ValueId sinks = node.operands.size() > 4 ? node.operands[4] : kNone;
    replace_node(graph_, id, {&attention_def, {q, k, v, mask, sinks}, attributes, {}});
  }

  // What a value of one row each is computed from by nodes that nobody else reads, up to the product that makes it: so
  // few rows meet the vocabulary. The last of `path` reads it.
  ValueId read_by_product(ValueId value, std::vector<NodeId>& path) const {
    for (;;) {
      const NodeId id = graph_.producer(value);
      if (id == kNone || graph_.use_count(value) != 1) return value;
      const Node& node = graph_.node(id);
      const bool is_product = node.op == &linear_def || node.op == &block_linear_def || node.op == &matmul_def;
      const bool keeps_rows = node.op->pointwise || node.op == &cast_def;
      if (node.results.size() != 1 || (!is_product && !keeps_rows) || !reads_one(node)) return value;
      path.push_back(id);
      value = node.operands[0];
      if (is_product) return value;
    }
  }

  // The first operand has rows [B,S,...]; the others are the same for all.
  bool reads_one(const Node& node) const {
    const auto is_same = [&](ValueId id) {
      return id == kNone || std::ranges::find(graph_.type(id).shape, tokens_) == graph_.type(id).shape.end();
    };
    return !node.operands.empty() && graph_.type(node.operands[0]).rank() == 3 && !is_same(node.operands[0]) &&
           std::all_of(node.operands.begin() + 1, node.operands.end(), is_same);
  }

  void finish_logits() {
    const ValueId logits = graph_.outputs()[0].value;
    std::vector<NodeId> path;
    const ValueId read = read_by_product(logits, path);
    graph_.set_insertion_point(path.empty() ? kNone : path.back());
    const Dim width = graph_.type(read).shape[2];
    const ValueId rows = ops::gather(
        graph_, {.table = view(read, {batch_ * tokens_, width}), .indices = options_.all_logits ? back_ : last_});
    if (path.empty()) {
      set_logits(rows);
      return;
    }
    graph_.set_operand(path.back(), 0, rows);
    for (size_t i = path.size(); i-- > 0;) graph_.reinfer(path[i]);
    graph_.set_insertion_point(kNone);
    set_logits(logits);
  }

  void set_logits(ValueId rows) {
    const Dim width = graph_.type(rows).shape[2];
    graph_.set_outputs({{options_.all_logits ? rows : view(rows, {batch_, width}), "logits"}});
  }

  void grow_lengths() {
    const ValueId is_of = ops::equal(graph_, {view(slots_, {batch_, 1}), integers({sequences_})});
    const ValueId each = ops::mul(graph_, {as(is_of, DType::i64), counts_});
    const ValueId more = ops::reduce_sum(graph_, {.x = each, .axes = std::vector<int64_t>{0}, .keepdims = 0});
    graph_.add_update(lengths_, ops::add(graph_, {lengths_, more}, "lengths_after"));
  }

  Graph graph_;
  const DecoderNodes nodes_;
  const PageType page_;
  const CacheOptions options_;
  Dim batch_, tokens_, sequences_, columns_, count_;
  ValueId slots_ = kNone, table_ = kNone, lengths_ = kNone;
  ValueId rows_ = kNone, before_ = kNone;                                 // of the table and the lengths
  ValueId counts_ = kNone, order_ = kNone, back_ = kNone, last_ = kNone;  // of the rows of a run
  std::map<std::optional<int64_t>, ValueId> seen_;                        // masks by window
  std::vector<std::pair<ValueId, ValueId>> appended_;                     // states of pages and their updates
  std::vector<std::string> pages_;
};

}  // namespace

CachedDecoder with_cache(const Graph& decoder, const CacheOptions& options) {
  decoder_facts(decoder);  // refuses what is no decoder
  if (decoder.outputs()[0].label != "logits")
    fail("graph {} gives {}; accepted: a decoder that gives logits", decoder.name, decoder.outputs()[0].label);
  return CachedForm(decoder, options).build();
}

}  // namespace hone
