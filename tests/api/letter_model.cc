#include "tests/api/letter_model.h"

#include "tests/generate/letter_model.h"
#include "tests/io/temporary_folder.h"

namespace api_test {

std::string letter_model(bool with_tokenizer) {
  static const hone::TemporaryFolder folder;
  hone::test::LetterModel made{.chat_template = hone::test::kLetterTemplate};
  if (!with_tokenizer) made.tokens = 0;
  const std::string path = folder / (with_tokenizer ? "letters.safetensors" : "mute.safetensors");
  made.write(path);
  return path;
}

}  // namespace api_test
