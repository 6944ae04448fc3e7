#pragma once

// Where tests find their files. Stated once, so that no other object depends on where the checkout lies and compiler caches serve several.
namespace hone::test {

extern const char* const kSourceDir;
extern const char* const kTestData;   // tests/data
extern const char* const kOnnxCases;  // ONNX's node tests, unpacked

}  // namespace hone::test
