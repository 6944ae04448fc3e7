// What a folder of a decoder says beside its graph: ids that end texts, the template of conversations; and weights that
// its configuration does not fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "importers/importer.h"
#include "models/decoder.h"
#include "tests/io/temporary_folder.h"
#include "tests/support/paths.h"

namespace hone {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class DecoderFolder : public testing::Test {
 protected:
  DecoderFolder() {
    std::filesystem::copy(std::filesystem::path(test::kTestData) / "families" / "llama", folder_.path(),
                          std::filesystem::copy_options::recursive);
  }
  DecoderFacts facts() const { return decoder_facts(import_model(folder_.path()).graph); }
  std::string error() const {
    return error_of([&] { import_model(folder_.path()); });
  }
  void set(const char* key, const Json& value) const {
    Json config = read_json_file(folder_ / "config.json");
    config[key] = value;
    folder_.put("config.json", config.dump());
  }
  TemporaryFolder folder_;
};

TEST_F(DecoderFolder, SettingsOfGeneratingHaveTheLastWordOnEnds) {
  EXPECT_THAT(facts().end, ElementsAre(2));
  folder_.put("generation_config.json", R"({"eos_token_id": [5, 7], "bos_token_id": null, "temperature": 0.6})");
  EXPECT_THAT(facts().end, ElementsAre(5, 7));
  EXPECT_EQ(facts().begin, 1);
  folder_.put("generation_config.json", R"({"eos_token_id": 37})");
  EXPECT_THAT(error(), AllOf(HasSubstr("generation_config.json"), HasSubstr("eos_token_id"), HasSubstr("37")));
  folder_.put("generation_config.json", "[]");
  EXPECT_THAT(error(), HasSubstr("expected an object"));
}

TEST_F(DecoderFolder, ATemplateIsAFileOrASettingOfTheTokenizer) {
  EXPECT_EQ(facts().chat_template, "");
  folder_.put("tokenizer_config.json", R"({"chat_template": [{"name": "rag", "template": "a"},
                                                             {"name": "default", "template": "b"}]})");
  EXPECT_EQ(facts().chat_template, "b");
  folder_.put("tokenizer_config.json", R"({"chat_template": "c"})");
  EXPECT_EQ(facts().chat_template, "c");
  folder_.put("chat_template.jinja", "d");
  EXPECT_EQ(facts().chat_template, "d");
}

TEST_F(DecoderFolder, TemplatesThatAreNoTextAreRefused) {
  folder_.put("tokenizer_config.json", R"({"chat_template": 3})");
  EXPECT_THAT(error(), AllOf(HasSubstr("tokenizer_config.json"), HasSubstr("chat_template is number")));
  folder_.put("tokenizer_config.json", R"({"chat_template": ["a"]})");
  EXPECT_THAT(error(), HasSubstr("{name, template}"));
}

TEST_F(DecoderFolder, WeightsOfOtherShapesAreNamedWithTheKeyThatAsks) {
  set("num_key_value_heads", 4);
  EXPECT_THAT(error(), AllOf(HasSubstr("\"model.layers.0.self_attn.k_proj.weight\" is [16,12]"), HasSubstr("[32,12]")));
  set("num_key_value_heads", 2), set("intermediate_size", 21);
  EXPECT_THAT(error(), AllOf(HasSubstr("\"model.layers.1.mlp.down_proj.weight\" is [12,20]"),
                             HasSubstr("[12,21] (21: intermediate_size)")));
  set("intermediate_size", 20), set("num_hidden_layers", 3);
  EXPECT_THAT(error(), HasSubstr("\"model.layers.2.input_layernorm.weight\" [12] is missing"));
}

}  // namespace
}  // namespace hone
