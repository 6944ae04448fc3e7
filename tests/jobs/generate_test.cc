#include "jobs/generate.h"

#include <algorithm>

#include "tests/generate/letter_model.h"
#include "tests/jobs/jobs_fixture.h"
#include "tests/support/error_of.h"
#include "views/generate.h"

namespace hone {
namespace {

using test::LetterModel;
using testing::HasSubstr;
using Ids = std::vector<int64_t>;

class Generate : public JobsTest {
 protected:
  Model model_of(const LetterModel& letters) const {
    letters.write(folder / "letters.safetensors");
    return load_model(folder / "letters.safetensors");
  }
  static GenerateOptions options(int64_t most = 8) {
    GenerateOptions options;
    options.max_tokens = most, options.temperature = 3, options.no_cache = true, options.optimise = 1;
    return options;
  }
  static GenerateResult answers(const Model& model, const std::vector<std::string>& prompts,
                                const GenerateOptions& options, const TaskContext& context = {}) {
    return generate(model, prompts, options, {}, context);
  }
};

Ids ids_of(const GeneratedText& text) {
  Ids ids;
  for (const TextToken& each : text.tokens) ids.push_back(each.id);
  return ids;
}

TEST_F(Generate, GivesWhatAGeneratorOfTheModelsPartsGives) {
  const Model model = model_of({});
  const GenerateResult got = answers(model, {"fgh"}, options());
  TextGenerator generator(with_cache(model.graph, {}), decoder_facts(model.graph), test::letters(),
                          options().session_options());
  const GeneratedText want =
      generator.generate({.prompt = {5, 6, 7}, .max_tokens = 8, .choice = {.temperature = 3}, .seed = 1});
  ASSERT_EQ(got.answers.size(), 1u);
  EXPECT_EQ(ids_of(got.answers[0]), ids_of(want));
  EXPECT_EQ(got.answers[0].text, want.text);
  EXPECT_EQ(got.answers[0].prompt_tokens, 3);
  EXPECT_EQ(got.model, model.name);
  EXPECT_EQ(got.compute, "f32");
}

TEST_F(Generate, AChatIsTheTextOfTheModelsTemplate) {
  const Model model = model_of({.chat_template = test::kLetterTemplate});
  GenerateOptions chat = options();
  chat.chat = true;
  const GenerateResult plain = answers(model, {"<s>ghf", "<s>iighf"}, options());
  EXPECT_EQ(ids_of(answers(model, {"gh"}, chat).answers[0]), ids_of(plain.answers[0]));
  chat.system = "ii";
  const GenerateResult with_system = answers(model, {"gh"}, chat);
  EXPECT_EQ(ids_of(with_system.answers[0]), ids_of(plain.answers[1]));
  EXPECT_EQ(with_system.answers[0].prompt_tokens, 6);
  EXPECT_TRUE(with_system.chat);
  EXPECT_FALSE(plain.chat);
}

TEST_F(Generate, PromptsAtOnceAreAnsweredAsEachAlone) {
  const Model model = model_of({});
  const std::vector<std::string> prompts{"fgh", "i", "jjkl", "mn", "ffff"};
  GenerateOptions three = options();
  three.sequences = 3;
  const GenerateResult together = answers(model, prompts, three);
  for (size_t i = 0; i < prompts.size(); ++i)
    EXPECT_EQ(ids_of(together.answers[i]), ids_of(answers(model, {prompts[i]}, options()).answers[0])) << i;
}

TEST_F(Generate, ACacheInFewerBitsIsSaid) {
  GenerateOptions rounded = options();
  rounded.kv_cache = "int8.g16";
  EXPECT_EQ(answers(model_of({}), {"fgh"}, rounded).kv_cache, "int8.g16");
}

TEST_F(Generate, WhoCancelsGetsWhatThereIs) {
  int asked = 0;
  const GenerateResult got = answers(model_of({}), {"fgh"}, options(), {.cancelled = [&] { return ++asked > 3; }});
  EXPECT_EQ(got.answers[0].end, TextEnd::interrupted);
  EXPECT_GT(got.answers[0].tokens.size(), 0u);
  EXPECT_LT(got.answers[0].tokens.size(), 8u);
}

TEST_F(Generate, APromptThatIsTooLongNamesTheFlag) {
  const Model model = model_of({.context = 8});
  EXPECT_EQ(error_of([&] { answers(model, {"ffffffffff"}, options()); }),
            "the prompt has 10 tokens, 2 more than the 8 of the context; --truncate leaves out its begin");
  GenerateOptions cut = options();
  cut.truncate = true;
  const GenerateResult got = answers(model, {"ffffffffff"}, cut);
  EXPECT_EQ(got.answers[0].prompt_tokens, 8);
  EXPECT_EQ(got.answers[0].prompt_left_out, 2);
  EXPECT_EQ(got.answers[0].end, TextEnd::context_full);
}

TEST_F(Generate, ModelsThatCantAnswerAreRefusedWithTheReason) {
  EXPECT_THAT(error_of([&] { answers(load_model(model), {"a"}, options()); }),
              HasSubstr("model: is no language model that goes on with texts"));
  EXPECT_THAT(error_of([&] { answers(model_of({.tokens = 0}), {"f"}, options()); }),
              HasSubstr("letters.safetensors: has no tokenizer (tokenizer.json, "));
  EXPECT_THAT(error_of([&] { answers(model_of({.tokens = 21}), {"f"}, options()); }),
              HasSubstr("letters.safetensors: the tokenizer has 21 tokens and the model's vocabulary 20: they are not "
                        "of one model"));
  GenerateOptions chat = options();
  chat.chat = true;
  EXPECT_THAT(error_of([&] { answers(model_of({}), {"f"}, chat); }),
              HasSubstr("letters.safetensors: the model has no chat template"));
  EXPECT_THAT(error_of([&] { answers(model_of({.chat_template = "{% include 'x' %}"}), {"f"}, chat); }),
              HasSubstr("include"));
  EXPECT_THAT(error_of([&] { answers(model_of({.end = "20"}), {"f"}, options()); }),
              HasSubstr("the model's end token 20 is beyond the 20 tokens of its vocabulary"));
}

TEST_F(Generate, OptionsThatDoNotFitTheModelAreRefused) {
  const Model model = model_of({});
  GenerateOptions wide = options(), cache = options();
  wide.context = 65;
  EXPECT_THAT(error_of([&] { answers(model, {"f"}, wide); }), HasSubstr("option context: expected 2 to 64"));
  cache.kv_cache = "int8.g24";
  EXPECT_THAT(error_of([&] { answers(model, {"f"}, cache); }), HasSubstr("keys and values as \"int8.g24\""));
  GenerateOptions stop = options();
  stop.stop = {""};
  EXPECT_NE(error_of([&] { answers(model, {"f"}, stop); }), "");
}

TEST_F(Generate, LogitsThatAreNoNumbersNameTheLayer) {
  const Model model = model_of({.parts = {.end = "%big = mul %h, 1e38\n %huge = mul %big, 1e38\n"
                                                 "%spoilt = sub %huge, %huge\n %logits = linear %spoilt, %words"}});
  const std::string error = error_of([&] { answers(model, {"fg"}, options()); });
  EXPECT_THAT(error, HasSubstr("logits of token 2: NaN at token 0"));
  EXPECT_THAT(error, HasSubstr("%huge, the result of mul"));
}

TEST_F(Generate, TheRecordHasTokensLogProbabilitiesAndTimes) {
  const GenerateResult result = answers(model_of({}), {"fgh", "ij"}, options());
  const Record record = view_of(result);
  const Table &all = table_of(record, "answers"), &tokens = table_of(record, "tokens");
  ASSERT_EQ(all.rows.size(), 2u);
  EXPECT_EQ(text_of(cell(all, "text", 1)), result.answers[1].text);
  EXPECT_EQ(text_of(cell(all, "end", 0)), "max tokens");
  EXPECT_EQ(value_of(cell(all, "prompt_tokens", 1)), 2);
  ASSERT_EQ(tokens.rows.size(), result.answers[0].tokens.size() + result.answers[1].tokens.size());
  for (size_t i = 0; i < tokens.rows.size(); ++i) {
    EXPECT_LT(value_of(cell(tokens, "log_probability", i)), 0);
    EXPECT_GT(value_of(cell(tokens, "ms", i)), 0);
  }
  EXPECT_EQ(value_of(cell(tokens, "id", 0)), static_cast<double>(result.answers[0].tokens[0].id));
}

}  // namespace
}  // namespace hone
