#include "jobs/sentences.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/text.h"
#include "jobs/open_session.h"

namespace hone {
namespace {

constexpr int64_t kLengthStep = 16;  // tokens; also keeps the rows of a batch a multiple of the matrix kernels' 8

void check_signature(const Graph& graph, bool& takes_types) {
  bool ids = false, mask = false;
  std::vector<std::string> names;
  for (ValueId v : graph.arguments()) {
    const std::string& label = graph.value(v).label;
    names.push_back(label);
    ids |= label == "input_ids";
    mask |= label == "attention_mask";
    takes_types |= label == "token_type_ids";
  }
  if (!ids || !mask || names.size() > 2 + static_cast<size_t>(takes_types))
    fail("the model takes {}; embedding texts needs input_ids and attention_mask", fmt::join(names, ", "));
  const TensorType& type = graph.type(graph.outputs()[0].value);
  if (type.rank() != 2 || type.dtype != DType::f32)
    fail(
        "the model's output \"{}\" is {}; a sentence encoder gives f32[B,C] (does its folder have modules.json and "
        "1_Pooling?)",
        graph.outputs()[0].label, to_string(type));
}

}  // namespace

SentenceEncoder::SentenceEncoder(Model model, const SessionOptions& options)
    : tokenizer_(tokenizer_of(model)),
      max_tokens_(hone::max_tokens(model)),
      prompt_(prompt_of(model)),
      session_(open_session(std::move(model), options)) {
  check_signature(session_.graph(), takes_types_);
}

Tensor SentenceEncoder::embed(const std::vector<std::string>& texts, int64_t batch) {
  if (texts.empty()) fail("no texts to embed");
  if (batch < 1) fail("batch is {}; at least 1 is needed", batch);
  std::vector<std::vector<int64_t>> ids(texts.size());
  for (size_t i = 0; i < texts.size(); ++i) ids[i] = tokenizer_.encode(prompt_ + texts[i], max_tokens_);
  std::vector<size_t> order(texts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return ids[a].size() < ids[b].size(); });
  const auto padded = [&](size_t i) {
    const int64_t length = (static_cast<int64_t>(ids[i].size()) + kLengthStep - 1) / kLengthStep * kLengthStep;
    return max_tokens_ > 0 ? std::min(length, max_tokens_) : length;
  };
  Tensor embeddings;
  for (size_t begin = 0; begin < order.size();) {
    const int64_t length = padded(order[begin]);
    size_t end = begin + 1;
    while (end < order.size() && end - begin < static_cast<size_t>(batch) && padded(order[end]) == length) ++end;
    const auto rows = static_cast<int64_t>(end - begin);
    Tensor input(DType::i64, {rows, length}), mask(DType::i64, {rows, length});
    auto id_values = input.mutable_as<int64_t>();
    auto mask_values = mask.mutable_as<int64_t>();
    const int64_t padding = tokenizer_.spec().pad_id.value_or(0);  // masked: any id gives the same result
    std::fill(id_values.begin(), id_values.end(), padding);
    for (size_t r = begin; r < end; ++r) {
      const auto& row = ids[order[r]];
      const auto at = static_cast<ptrdiff_t>((r - begin) * static_cast<size_t>(length));
      std::copy(row.begin(), row.end(), id_values.begin() + at);
      std::fill_n(mask_values.begin() + at, row.size(), 1);
    }
    NamedTensors inputs{{"input_ids", input}, {"attention_mask", mask}};
    if (takes_types_) inputs.emplace("token_type_ids", Tensor(DType::i64, {rows, length}));
    const Tensor result = session_.run(inputs)[0];
    if (begin == 0) embeddings = Tensor(DType::f32, {static_cast<int64_t>(texts.size()), result.dim(1)});
    const auto width = static_cast<size_t>(result.dim(1));
    for (size_t r = begin; r < end; ++r)
      std::copy_n(result.as<float>().begin() + static_cast<ptrdiff_t>((r - begin) * width), width,
                  embeddings.mutable_as<float>().begin() + static_cast<ptrdiff_t>(order[r] * width));
    begin = end;
  }
  return embeddings;
}

}  // namespace hone
