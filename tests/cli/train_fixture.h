// Data of a few kilobytes from which a model of a few thousand weights learns in seconds, and trainings that are
// killed.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "base/json.h"
#include "tests/cli/cli_fixture.h"
#include "tests/io/write_image.h"
#include "tests/support/running_program.h"

namespace hone {

using Arguments = std::vector<std::string>;

inline Arguments operator+(Arguments a, const Arguments& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

class TrainTest : public CliTest {
 protected:
  std::string output() const { return out + "/out.safetensors"; }
  std::string last() const { return out + "/out.run/last.safetensors"; }

  // Three of four rows are for training, the others for test; "hot" and "house" tell what is right.
  std::string put_texts(const std::string& header, const std::function<std::string(bool hot, bool house)>& right,
                        int rows = 128) const {
    std::string csv = "text," + header + ",split\n";
    for (int i = 0; i < rows; ++i) {
      const bool hot = i % 3 == 0, house = i % 5 < 2;
      csv += fmt::format("the {} and {} word {},{},{}\n", hot ? "hot" : "other", house ? "house" : "some",
                         i % 7 < 3 ? "were" : "that", right(hot, house), i % 4 == 3 ? "test" : "train");
    }
    return folder.put("texts.csv", csv);
  }
  std::string put_classes(int rows = 128) const {
    return put_texts(
        "label", [](bool hot, bool) { return hot ? "warm" : "cold"; }, rows);
  }

  static uint8_t grey(int i, bool light) { return static_cast<uint8_t>((light ? 160 : 20) + i * 7 % 60); }

  // Folders of 8 x 8 pixels, dark and light.
  std::string put_images(int each = 24) const {
    for (const char* split : {"train", "test"})
      for (bool light : {false, true})
        for (int i = 0; i < each; ++i)
          folder.put(fmt::format("images/{}/{}/{:03}.png", split, light ? "light" : "dark", i),
                     test::grey_png(8, 8, grey(i, light)));
    return folder / "images";
  }
  // 96 images in the files of Fashion-MNIST, light and dark.
  std::string put_fashion() const {
    const auto sizes = [](std::vector<uint32_t> all) {
      std::string bytes{0, 0, 8, static_cast<char>(all.size())};
      for (uint32_t size : all)
        for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(size >> shift & 0xff);
      return bytes;
    };
    for (const char* part : {"train", "t10k"}) {
      std::string images = sizes({96, 28, 28}), labels = sizes({96});
      for (int i = 0; i < 96; ++i) {
        images += std::string(28 * 28, static_cast<char>(grey(i, i % 2 == 1)));
        labels += static_cast<char>(i % 10);
      }
      folder.put(fmt::format("fashion/{}-images-idx3-ubyte", part), images);
      folder.put(fmt::format("fashion/{}-labels-idx1-ubyte", part), labels);
    }
    return folder / "fashion";
  }

  std::string convnet() const {
    const std::string path = folder / "convnet.safetensors";
    const ProgramResult built = hone_program({"build", "convnet", "--set", "widths=[8,16]", "--set", "num_channels=1",
                                              "--set", "image_size=8", "--set", "num_classes=2", "-o", path});
    EXPECT_EQ(built.exit_code, 0) << built.err;
    return path;
  }

  // Six epochs, unless `more` says how many.
  Arguments training(const std::string& model, const std::string& data, const Arguments& more = {}) const {
    Arguments all{"train", model, "--data", data, "-o", output(), "--batch", "16", "--rate", "5e-3", "--json"};
    if (std::ranges::find(more, "--epochs") == more.end()) all = all + Arguments{"--epochs", "6"};
    return all + more;
  }

  // Kills the training by SIGKILL when it has written `checkpoints` more; false: it had ended before.
  bool killed_after(const Arguments& arguments, int checkpoints) const {
    std::error_code none;
    auto before = std::filesystem::last_write_time(last(), none);
    if (none) before = {};
    RunningProgram program(HONE_PROGRAM, arguments);
    int seen = 0;
    const bool alive = program.until([&] {
      std::error_code absent;
      const auto time = std::filesystem::last_write_time(last(), absent);
      if (!absent && time != before) before = time, ++seen;
      return seen >= checkpoints;
    });
    if (alive) program.send(SIGKILL);
    return program.end() == -SIGKILL;
  }
};

}  // namespace hone
