// tf_idf: counts of n-grams, as ONNX TfIdfVectorizer.
#include <algorithm>
#include <map>

#include "base/stop.h"
#include "ops/rules.h"

namespace hone {
namespace {

using Integers = std::vector<int64_t>;
using Strings = std::vector<std::string>;

constexpr AttributeSpec kAttributes[] = {
    {"mode", AttributeKind::string, true, "TF: counts; IDF: weights of those that occur; TFIDF: counts times weights"},
    {"min_gram_length", AttributeKind::integer, true, "items of the shortest n-grams that count"},
    {"max_gram_length", AttributeKind::integer, true, "items of the longest"},
    {"max_skip_count", AttributeKind::integer, true, "up to this many items may lie between those of an n-gram"},
    {"ngram_counts", AttributeKind::integers, true, "where the 1-grams, 2-grams, ... of the pool begin"},
    {"ngram_indexes", AttributeKind::integers, true, "the result's column for each n-gram of the pool"},
    {"pool_int64s", AttributeKind::integers, false, "the n-grams, one after the other, where x holds integers"},
    {"pool_strings", AttributeKind::strings, false, "the same where x holds strings"},
    {"weights", AttributeKind::numbers, false, "of each n-gram of the pool; default 1"},
};

struct Range {
  int64_t begin, end;
};

// Places in the pool of the n-grams of `length` items.
Range part_of_pool(const Integers& counts, int64_t length, int64_t pool) {
  const auto i = static_cast<size_t>(length - 1);
  if (i >= counts.size()) return {pool, pool};
  return {counts[i], i + 1 < counts.size() ? counts[i + 1] : pool};
}

void check_pool(const Attributes& attributes, int64_t pool) {
  const auto &counts = attributes.get<Integers>("ngram_counts"), &columns = attributes.get<Integers>("ngram_indexes");
  int64_t ngrams = 0;
  for (int64_t length = 1; length <= std::ssize(counts); ++length) {
    const Range part = part_of_pool(counts, length, pool);
    if (part.begin < 0 || part.end < part.begin || part.end > pool || (part.end - part.begin) % length != 0)
      fail("ngram_counts puts the {}-grams at {} to {} of a pool of {} items", length, part.begin, part.end, pool);
    ngrams += (part.end - part.begin) / length;
  }
  if (std::ssize(columns) != ngrams) fail("ngram_indexes has {} values for {} n-grams", columns.size(), ngrams);
  if (ngrams > 0 && *std::ranges::min_element(columns) < 0) fail("ngram_indexes holds a negative column");
  const auto weights = attributes.get_or<std::vector<double>>("weights", {});
  if (!weights.empty() && std::ssize(weights) != ngrams)
    fail("there are {} weights for {} n-grams", weights.size(), ngrams);
}

int64_t columns_of(const Attributes& attributes) {
  const auto& columns = attributes.get<Integers>("ngram_indexes");
  return columns.empty() ? 0 : checked_add(*std::ranges::max_element(columns), 1);
}

std::vector<TensorType> infer_tf_idf(const InferArgs& a) {
  expect_rank(a[0], 1, 2, "x [C] or [B,C]");
  const bool strings = a[0].dtype == DType::string;
  if (!strings) expect_index(a[0], "x, unless it holds strings,");
  const char *pool = strings ? "pool_strings" : "pool_int64s", *other = strings ? "pool_int64s" : "pool_strings";
  if (!a.attributes.has(pool) || a.attributes.has(other))
    fail("x is {}, so its n-grams are given by {} alone", to_string(a[0]), pool);
  const auto& mode = a.attributes.get<std::string>("mode");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") fail("mode is \"{}\"; accepted: TF, IDF, TFIDF", mode);
  const int64_t shortest = a.attributes.get<int64_t>("min_gram_length"),
                longest = a.attributes.get<int64_t>("max_gram_length"),
                skip = a.attributes.get<int64_t>("max_skip_count");
  if (shortest < 1 || longest < shortest || skip < 0)
    fail("lengths are {} to {} with {} skipped; accepted: 1 <= min_gram_length <= max_gram_length, max_skip_count >= 0",
         shortest, longest, skip);
  check_pool(a.attributes,
             strings ? std::ssize(a.attributes.get<Strings>(pool)) : std::ssize(a.attributes.get<Integers>(pool)));
  Shape shape = a[0].shape;
  shape.back() = columns_of(a.attributes);
  return {plain_type(DType::f32, shape)};
}

// The pool's n-grams with their numbers.
template <class Item>
std::map<std::vector<Item>, size_t> numbered(const std::vector<Item>& pool, const Attributes& attributes) {
  std::map<std::vector<Item>, size_t> numbers;
  size_t number = 0;
  const auto& counts = attributes.get<Integers>("ngram_counts");
  for (int64_t length = 1; length <= std::ssize(counts); ++length) {
    const Range part = part_of_pool(counts, length, std::ssize(pool));
    for (int64_t i = part.begin; i < part.end; i += length)
      numbers.emplace(std::vector<Item>(pool.begin() + i, pool.begin() + i + length), number++);
  }
  return numbers;
}

template <class Item>
std::vector<double> count_ngrams(std::span<const Item> row, const std::map<std::vector<Item>, size_t>& numbers,
                                 const Attributes& attributes) {
  std::vector<double> counts(attributes.get<Integers>("ngram_indexes").size());
  const int64_t longest = std::min(attributes.get<int64_t>("max_gram_length"), std::ssize(row)),
                widest = std::min(attributes.get<int64_t>("max_skip_count"), std::ssize(row) - 1) + 1;
  for (int64_t n = attributes.get<int64_t>("min_gram_length"); n <= longest; ++n)
    for (int64_t stride = 1; stride <= (n == 1 ? 1 : widest); ++stride)
      for (int64_t begin = 0; begin + (n - 1) * stride < std::ssize(row); ++begin) {
        check_stop();
        std::vector<Item> ngram;
        for (int64_t i = 0; i < n; ++i) ngram.push_back(row[static_cast<size_t>(begin + i * stride)]);
        const auto found = numbers.find(ngram);
        if (found != numbers.end()) ++counts[found->second];
      }
  return counts;
}

template <class Item>
std::vector<Tensor> vectorize(const EvalArgs& a, const std::vector<Item>& items, const std::vector<Item>& pool) {
  const auto numbers = numbered(pool, a.attributes);
  const auto& mode = a.attributes.get<std::string>("mode");
  const auto& to = a.attributes.get<Integers>("ngram_indexes");
  auto weights = a.attributes.get_or<std::vector<double>>("weights", {});
  if (weights.empty()) weights.assign(to.size(), 1.0);
  std::vector<int64_t> sizes = a[0].shape();
  const auto length = static_cast<size_t>(sizes.back()), columns = static_cast<size_t>(columns_of(a.attributes));
  const size_t rows = sizes.size() == 2 ? static_cast<size_t>(sizes[0]) : 1;
  sizes.back() = static_cast<int64_t>(columns);
  std::vector<double> y(rows * columns);
  for (size_t row = 0; row < rows; ++row) {
    const std::vector<double> counts =
        count_ngrams(std::span(items).subspan(row * length, length), numbers, a.attributes);
    for (size_t i = 0; i < counts.size(); ++i)
      y[row * columns + static_cast<size_t>(to[i])] +=
          mode == "TF" ? counts[i] : weights[i] * (mode == "IDF" ? std::min(counts[i], 1.0) : counts[i]);
  }
  return {Tensor::from_doubles(DType::f32, sizes, y)};
}

std::vector<Tensor> eval_tf_idf(const EvalArgs& a) {
  if (a[0].dtype() == DType::string)
    return vectorize<std::string>(a, a[0].string_values(), a.attributes.get<Strings>("pool_strings"));
  return vectorize<int64_t>(a, a[0].to_integers(), a.attributes.get<Integers>("pool_int64s"));
}

}  // namespace

extern constinit const OpDef tf_idf_def{
    .name = "tf_idf",
    .doc =
        "How often each n-gram of a pool occurs in x[C] or in the rows of x[B,C], integers or strings: f32[columns] or "
        "[B,columns].",
    .attributes = kAttributes,
    .infer = infer_tf_idf,
    .eval = eval_tf_idf,
    .no_gradient = "texts do not change smoothly"};

}  // namespace hone
