#include "tests/support/paths.h"

namespace hone::test {

const char* const kSourceDir = HONE_SOURCE_DIR;
const char* const kTestData = HONE_SOURCE_DIR "/tests/data";
const char* const kOnnxCases = HONE_ONNX_CASES;

}  // namespace hone::test
