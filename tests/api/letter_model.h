// A language model's file, for tests that see include/hone alone.
#pragma once

#include <string>

namespace api_test {

// Its path; until the tests end.
std::string letter_model(bool with_tokenizer = true);

}  // namespace api_test
