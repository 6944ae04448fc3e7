// Published examples of FIPS 180 and of xxHash, and that a whole is hashed as its pieces are.
#include "base/hash.h"

#include <gtest/gtest.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/hash_stream.h"
#include "base/stop.h"
#include "tests/io/temporary_folder.h"

namespace hone {
namespace {

constexpr uint64_t kPrime32 = 2654435761, kPrime64 = 11400714785074694797u;

// The first bytes of the buffer on which xxHash's cli/xsum_sanity_check.c publishes its values.
std::string published_bytes(size_t size) {
  std::string bytes;
  for (uint64_t state = kPrime32; bytes.size() < size; state *= kPrime64) bytes += static_cast<char>(state >> 56);
  return bytes;
}

// A size of each of XXH3's ways: empty, up to 3, 8, 16, 128, 240 bytes, stripes of one block, blocks.
TEST(Xxh3, Of64BitsMatchesThePublishedExamples) {
  struct Example {
    size_t size;
    uint64_t plain, seeded;
  };
  for (const auto& [size, plain, seeded] : {Example{0, 0x2d06800538d394c2, 0xa8a6b918b2f0364a},
                                            {1, 0xc44bdff4074eecdb, 0x032be332dd766ef8},
                                            {6, 0x27b56a84cd2d7325, 0x84589c116ab59ab9},
                                            {12, 0xa713daf0dfbb77e7, 0xe7303e1b2336de0e},
                                            {24, 0xa3fe70bf9d3510eb, 0x850e80fc35bdd690},
                                            {195, 0xcd94217ee362ec3a, 0xba68003d370cb3d9},
                                            {512, 0x617e49599013cb6b, 0x3ce457de14c27708},
                                            {2048, 0xdd59e2c3a5f038e0, 0x66f81670669ababc}}) {
    EXPECT_EQ(hash_text(published_bytes(size)), plain) << size;
    EXPECT_EQ(hash_text(published_bytes(size), kPrime64), seeded) << size;
  }
}

TEST(Xxh3, OfPiecesIsThatOfTheWhole) {
  const std::string whole = published_bytes(2'500);
  for (size_t piece : {1u, 7u, 256u, 2'500u}) {
    HashStream hash(5);
    for (size_t at = 0; at < whole.size(); at += piece)
      hash.update(std::as_bytes(std::span(whole).subspan(at, std::min(piece, whole.size() - at))));
    EXPECT_EQ(hash.value(), hash_text(whole, 5)) << piece;
  }
  EXPECT_EQ(HashStream(7).value(), hash_text("", 7));
}

TEST(Xxh3, Of128BitsMatchesThePublishedExamples) {
  EXPECT_EQ(hash128("").hex(), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(hash128(published_bytes(1)).hex(), "a6cd5e9392000f6ac44bdff4074eecdb");
  EXPECT_EQ(hash128(published_bytes(6)).hex(), "082afe0b8162d12a3e7039bdda43cfc6");
  EXPECT_EQ(hash128(published_bytes(12)).hex(), "6e3efd8fc7802b18061a192713f69ad9");
  EXPECT_EQ(hash128(published_bytes(48)).hex(), "a002ac4e5478227ef942219aed80f67b");
  EXPECT_EQ(hash128(published_bytes(222)).hex(), "337e09641b948717f1aebd597cec6b3a");
  EXPECT_EQ(hash128(published_bytes(512)).hex(), "18d2d110dcc9bca1617e49599013cb6b");
  EXPECT_EQ(hash128(published_bytes(2367)).hex(), "e89c0f6ff369b427cb37aeb9e5d361ed");
}

TEST(Sha256, MatchesThePublishedExamples) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqr"
                       "lmnopqrsmnopqrstnopqrstu"),
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(sha256_hex(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, AKeyIsTheFirstHalf) { EXPECT_EQ(sha256_128("abc").hex(), sha256_hex("abc").substr(0, 32)); }

// Across every border of its blocks of 64 bytes.
TEST(Sha256, PiecesGiveTheHashOfTheWhole) {
  const std::string whole = published_bytes(200);
  for (size_t first = 0; first <= whole.size(); ++first)
    for (size_t second : {size_t{0}, size_t{1}, size_t{64}, whole.size()}) {
      const std::string_view rest = std::string_view(whole).substr(first);
      Sha256 pieces;
      pieces.update(std::string_view(whole).substr(0, first));
      pieces.update(rest.substr(0, second));
      pieces.update(rest.substr(std::min(second, rest.size())));
      ASSERT_EQ(pieces.hex(), sha256_hex(whole)) << first << " " << second;
    }
}

TEST(Sha256, OfAFileIsThatOfItsBytes) {
  const TemporaryFolder folder;
  const std::string large = published_bytes((size_t{32} << 20) + 5);  // three pieces
  EXPECT_EQ(sha256_of_file(folder.put("large", large)), sha256_hex(large));
  EXPECT_EQ(sha256_of_file(folder.put("empty", "")), sha256_hex(""));
  EXPECT_THROW(sha256_of_file(folder / "none"), Error);
}

TEST(Sha256, OfAFileEndsWhenAskedTo) {
  const TemporaryFolder folder;
  const std::string file = folder.put("file", "abc");
  request_stop(Stop::interrupted);
  EXPECT_THROW(sha256_of_file(file), Stopped);
  request_stop(Stop::none);
  EXPECT_EQ(sha256_of_file(file), sha256_hex("abc"));
}

}  // namespace
}  // namespace hone
