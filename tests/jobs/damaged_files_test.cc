// Every damaged file is refused with an Error, or is still a whole model that runs: never a crash, never a Bug. The
// same loop under a sanitizer is the proof that nothing is read outside of the file.
#include <cstring>
#include <fstream>
#include <new>
#include <optional>

#include "tests/jobs/jobs_fixture.h"

namespace hone {
namespace {

uint64_t header_bytes(const std::string& content) {
  uint64_t length = 0;
  std::memcpy(&length, content.data(), 8);
  return 8 + length;
}

// What the program answers with exit code 0 or 1; anything else is its exit code 70, a bug.
enum class Answer { done, refused };
template <class Action>
std::optional<Answer> answer_of(Action&& action, std::string& what) {
  try {
    action();
    return Answer::done;
  } catch (const Error&) {
    return Answer::refused;
  } catch (const std::filesystem::filesystem_error&) {
    return Answer::refused;
  } catch (const std::bad_alloc&) {
    return Answer::refused;
  } catch (const std::exception& e) {
    what = e.what();
    return std::nullopt;
  }
}

class DamagedFiles : public JobsTest {
 protected:
  // `use` on the file with one bit flipped, for each place; returns how many were refused.
  template <class Use>
  int flip(const std::string& file, const std::vector<std::pair<size_t, int>>& places, Use&& use) {
    const std::string whole = content_of(file);
    int refused = 0;
    std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
    const auto put = [&](size_t at, int value) {
      stream.seekp(static_cast<std::streamoff>(at));
      stream.put(static_cast<char>(value));
      stream.flush();
    };
    for (const auto& [at, bit] : places) {
      put(at, whole[at] ^ (1 << bit));
      std::string what;
      const std::optional<Answer> answer = answer_of(use, what);
      EXPECT_TRUE(answer) << "byte " << at << " bit " << bit << " of " << file << ": " << what;
      refused += answer == Answer::refused;
      put(at, whole[at]);
    }
    EXPECT_EQ(content_of(file), whole);
    return refused;
  }
  static std::vector<std::pair<size_t, int>> every_bit(size_t begin, size_t end) {
    std::vector<std::pair<size_t, int>> places;
    for (size_t at = begin; at < end; ++at)
      for (int bit = 0; bit < 8; ++bit) places.emplace_back(at, bit);
    return places;
  }
  static std::vector<std::pair<size_t, int>> some_bits(size_t begin, size_t end, int count) {
    Philox random(11);
    std::vector<std::pair<size_t, int>> places;
    for (int i = 0; i < count; ++i)
      places.emplace_back(begin + random.below(static_cast<uint32_t>(end - begin)), static_cast<int>(random.below(8)));
    return places;
  }
};

constexpr std::string_view kGraph = R"(graph g {
  meta "compute" = "f32"
  %x : f32[B,4] = input "x"
  %w : f32[3,4] = const "w" {1, -2, 0.5, 3, 0, 1, 2, -1, 0.25, 4, -3, 1}
  %b : f32[3] = const "b" {1, 2, 3}
  %h : f32[B,3] = linear %x, %w, %b
  %y : f32[B,3] = gelu %h
  return %y as "y"
})";

TEST_F(DamagedFiles, AnyFlippedBitOfASmallFile) {
  Graph graph = test::parse(kGraph);
  QuantizeOptions to_mxint8;
  to_mxint8.to = "mxint8";
  Model source;
  source.graph = graph;
  source.files["config.json"] = "{}";
  const std::string file = folder / "g.safetensors";
  save_model(file, quantize_model(source, to_mxint8, std::nullopt).graph, source);
  const NamedTensors inputs{{"x", Tensor::of<float>({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})}};
  const auto run = [&] {
    SessionOptions interpreted;
    interpreted.device = open_device("reference");
    interpreted.optimise = 1;
    Session(load_model(file).graph, interpreted).run(inputs);
  };
  run();
  const size_t size = std::filesystem::file_size(file), header = header_bytes(content_of(file));
  const int flips = 8 * static_cast<int>(header), refused = flip(file, every_bit(0, header), run);
  EXPECT_GT(refused, flips / 2);  // names and file contents may change freely, structure may not
  EXPECT_LT(refused, flips);
  EXPECT_LT(flip(file, every_bit(header, size), run),
            8 * static_cast<int>(size - header));  // other weights are a model too
}

TEST_F(DamagedFiles, FlippedBitsOfAnEncoder) {
  const std::string file = quantized("mxint8");
  const size_t size = std::filesystem::file_size(file), header = header_bytes(content_of(file));
  const auto load = [&] { load_model(file); };
  EXPECT_GT(flip(file, some_bits(0, header, 2000), load), 0);
  flip(file, some_bits(header, size, 60), load);
}

TEST_F(DamagedFiles, FlippedBitsOfAFolderOfWeights) {
  const std::string file = model + "/model.safetensors";
  const size_t size = std::filesystem::file_size(file), header = header_bytes(content_of(file));
  const auto load = [&] { load_model(model); };
  EXPECT_GT(flip(file, some_bits(0, header, 2000), load), 1000);
  EXPECT_EQ(flip(file, some_bits(header, size, 60), load), 0);  // any bits are weights
}

TEST_F(DamagedFiles, FlippedBitsOfTheConfiguration) {
  const std::string file = model + "/config.json";
  EXPECT_GT(flip(file, every_bit(0, std::filesystem::file_size(file)), [&] { load_model(model); }), 0);
}

TEST_F(DamagedFiles, NoTruncatedFileIsAModel) {
  const std::string file = put_graph("g.safetensors", kGraph), whole = content_of(file);
  for (size_t length = 0; length < whole.size(); ++length) {
    const std::string cut = folder.put("cut.safetensors", std::string_view(whole).substr(0, length));
    EXPECT_THAT(error_of([&] { load_model(cut); }), testing::StartsWith(cut)) << length << " bytes";
  }
}

}  // namespace
}  // namespace hone
