// Families of decoders as they generate: compiled, and in the form that keeps keys and values, with a prompt at once,
// in pieces and step by step, they give what transformers computed of whole texts in f64.
#include <gtest/gtest.h>

#include "generate/decoder_runs.h"
#include "jobs/load_model.h"
#include "tests/jobs/golden_family.h"

namespace hone::test {
namespace {

// Those whose golden has logits of decoders.
std::vector<std::string> decoder_folders() {
  std::vector<std::string> names = family_folders();
  std::erase_if(names, [](const std::string& name) {
    const std::string architecture =
        read_json_file(family_folder(name) + "/config.json").at("architectures").at(0).get<std::string>();
    return !architecture.ends_with("ForCausalLM") && !architecture.ends_with("LMHeadModel");
  });
  return names;
}

SessionOptions options(int optimise) {
  SessionOptions options;
  options.optimise = optimise, options.cache_folder = "";
  return options;
}

class DecoderFamilies : public testing::TestWithParam<std::tuple<std::string, int>> {  // a folder, a level
 protected:
  std::string folder() const { return family_folder(std::get<0>(GetParam())); }
  SessionOptions session() const { return options(std::get<1>(GetParam())); }

  // Logits behind token `at` of row `row`; `at` counts padding.
  void expect_logits(std::span<const float> got, size_t row, size_t at) const {
    const size_t begin = (row * width_ + at) * got.size();
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], want_[begin + i], bound_) << "row " << row << ", token " << at << ", logit " << i;
  }

  // All of a batch [B,S,V], where there is no padding.
  void expect_batch(const Tensor& logits) const {
    ASSERT_EQ(logits.shape(), golden_.outputs.at("logits").shape());
    const std::vector<float> got = logits.to_floats();
    const size_t words = got.size() / mask_.size();
    for (size_t i = 0; i < mask_.size(); ++i)
      if (mask_[i] != 0) expect_logits(std::span(got).subspan(i * words, words), i / width_, i % width_);
  }

  const Golden golden_{folder()};
  const std::vector<int64_t> ids_ = golden_.inputs.at("input_ids").to_integers();
  const std::vector<int64_t> mask_ = golden_.inputs.at("attention_mask").to_integers();
  const size_t width_ = static_cast<size_t>(golden_.inputs.at("attention_mask").dim(1)), rows_ = mask_.size() / width_;
  const std::vector<double> want_ = golden_.outputs.at("logits").to_doubles();
  const double bound_ = golden_.bounds.at("logits").to_doubles()[0];
  const Graph graph_ = load_model(folder()).graph;
};

TEST_P(DecoderFamilies, CompiledWithoutState) {
  Session session(graph_, this->session());
  expect_batch(session.run(golden_.inputs).at(0));
}

TEST_P(DecoderFamilies, ABatchPaddedOnEitherSideAtOnce) {
  const CachedDecoder cached = with_cache(graph_, {.page_rows = 4, .all_logits = true});
  Session session(cached.graph, this->session());
  Context context;
  const auto rows = static_cast<int64_t>(rows_);
  PageTable pages(session.graph(), context, {.pages = cached.pages}, rows);
  pages.reserve(static_cast<int64_t>(width_));
  std::map<std::string, Tensor> given = golden_.inputs;
  std::vector<int64_t> slots;
  for (int64_t i = 0; i < rows; ++i) slots.push_back(rows - 1 - i);
  given["slots"] = Tensor::of<int64_t>({rows}, slots);
  expect_batch(session.run(context, given).at(0));
}

// Rows have different lengths, so that pieces of them are padded as well, and some end before others.
TEST_P(DecoderFamilies, InPiecesAndStepByStep) {
  std::vector<std::vector<int64_t>> texts(rows_);
  std::vector<size_t> front(rows_, width_);
  for (size_t i = 0; i < mask_.size(); ++i) {
    if (mask_[i] == 0) continue;
    texts[i / width_].push_back(ids_[i]);
    front[i / width_] = std::min(front[i / width_], i % width_);
  }
  for (size_t piece : {5u, 1u}) {
    DecoderRuns runs(with_cache(graph_, {.page_rows = 4}), decoder_facts(graph_), session(),
                     static_cast<int64_t>(rows_));
    for (size_t at = 0; at < width_; at += piece) {
      std::vector<DecoderRuns::Row> rows;
      for (size_t r = 0; r < rows_; ++r)
        if (at < texts[r].size())
          rows.push_back(
              {static_cast<int64_t>(r), std::span(texts[r]).subspan(at, std::min(piece, texts[r].size() - at))});
      if (rows.empty()) break;
      const std::vector<float> logits = runs.run(rows).to_floats();
      const size_t words = logits.size() / rows.size();
      for (size_t i = 0; i < rows.size(); ++i) {
        const auto r = static_cast<size_t>(rows[i].sequence);
        expect_logits(std::span(logits).subspan(i * words, words), r, front[r] + at + rows[i].ids.size() - 1);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, DecoderFamilies,
                         testing::Combine(testing::ValuesIn(decoder_folders()), testing::Values(0, 2)),
                         [](const auto& info) {
                           std::string name = std::get<0>(info.param);
                           std::ranges::replace(name, '-', '_');
                           return fmt::format("{}_{}", name, std::get<1>(info.param));
                         });

}  // namespace
}  // namespace hone::test
