// What rides along in the files that models are saved as.
#include "jobs/save_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/tokenizer_files.h"
#include "ir/row_keys.h"

namespace hone {
namespace {

// config.json, which names the class, stays behind.
TEST(SaveModel, AVocabularyOfMpnetGoesIntoOnnxAsTheTokenizerJsonThatItStandsFor) {
  std::map<std::string, std::string> files{{"vocab.txt", "<s>\n<pad>\n</s>\n[UNK]\n<mask>\na\n"},
                                           {"config.json", R"({"model_type": "mpnet"})"}};
  const std::string carried = kCarriedFile;
  Graph graph = with_tokenizer({}, files);
  EXPECT_TRUE(graph.metadata.contains(carried + kTokenizerJson));
  EXPECT_FALSE(graph.metadata.contains(carried + kVocabTxt));
  files = {{"vocab.txt", "[CLS]\n[PAD]\n[SEP]\n[UNK]\na\n"}, {"config.json", R"({"model_type": "bert"})"}};
  graph = with_tokenizer({}, files);
  EXPECT_FALSE(graph.metadata.contains(carried + kTokenizerJson));
  EXPECT_TRUE(graph.metadata.contains(carried + kVocabTxt));
}

}  // namespace
}  // namespace hone
