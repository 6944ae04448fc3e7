#!/usr/bin/env python3
"""Token ids of the Hugging Face `tokenizers` library for a seeded mixture of texts, one JSON object a line.

A text that is valid UTF-8 is in "text"; one that is not is in "base64" (its bytes). The reference sees the bytes decoded with
errors="replace". Truncation and padding are off unless --max-length is given.

  bench/peers/tokenizer_reference.py model/tokenizer.json --count 10000 --seed 1 -o reference.jsonl
"""
import argparse
import base64
import json
import random
import sys

from tokenizers import Tokenizer

WORDS = """the of and a to in is it you that he was for on are with as his they be at one have this from or had by hot but some
what there we can out other were all your when up use word how said an each she which do their time if will way about many then
them would write like so these her long make thing see him two has look more day could go come did my sound no most number who
over know water than call first people may down side been now find embeddings transformer quantization unbelievable tokenization
antidisestablishmentarianism reimplementation Kubernetes GCC-12 C++20 x86_64 e.g. i.e. don't won't it's rock'n'roll""".split()
ACCENTS = "àáâãäåæçèéêëìíîïðñòóôõöøùúûüýþÿĀāĂăĄąĆćČčĎďĐđĒēĘęĚěĞğĠġĦħĨĩĪīİıŁłŃńŇňŌōŐőŒœŔŕŘřŚśŞşŠšŤťŪūŮůŰűŹźŻżŽžƏəẞßǅǈ"
CJK = "中文字漢語日本東京大阪人工智能深度学习的一是不了在有我他这上們來到時㐀㒅𠀀𠮷𡃁豈更丽"
KANA_HANGUL = "ひらがなカタカナ゛゜ーｱｲｳ한국어서울가각갂힣각"
EMOJI = ["😀", "👍🏽", "👩‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪", "❤️", "☕", "🧑🏻‍💻", "1️⃣", "\u200d", "\ufe0f"]
SCRIPTS = {
    "cyrillic": "Привет, как дела? Ёжик й съешь ещё этих мягких французских булок ЙЎЇҐ",
    "greek": "Καλημέρα κόσμε ΐΰ ΆΈΉ ΟΔΟΣ Σίσυφος ὕβρις ᾧ ᾳ",
    "turkish": "İstanbul'da ılık IĞDIR şöför İİ iI",
    "german": "Straße GROẞE Füße Übermäßig Öl ß",
    "arabic": "مرحبا بالعالم، كيف حالك؟ اَلْعَرَبِيَّةُ ﷺ لا",
    "hebrew": "שָׁלוֹם עולם",
    "hindi": "नमस्ते दुनिया क़िला हिन्दी में।",
    "thai": "สวัสดีชาวโลก น้ำ กำลัง",
    "vietnamese": "Tiếng Việt được viết bằng chữ Quốc ngữ",
    "georgian": "ᲒᲐᲛᲐᲠᲯᲝᲑᲐ გამარჯობა",
    "khmer": "សួស្តី​ពិភពលោក",
    "fancy": "𝓗𝓮𝓵𝓵𝓸 ｆｕｌｌ ｗｉｄｔｈ ﬁ ﬂ ℌ Ⅷ ① ² ½ Å Ω K",
}
MARKS = "\u0300\u0301\u0302\u0308\u0323\u0327\u0328\u0334\u0338\u0345\u20d0\u3099\u0315\u031b\u0591\u05b0\u064b\u0670\u093c\u094d\u302a\u302e"
CONTROLS = "".join(map(chr, list(range(0, 32)) + list(range(127, 160)))) + "\u00ad\u200b\u200c\u200e\u202a\u2060\ufeff\ufffd\ue000"
SPACES = " \t\n\r\v\f\x1c\x1f\u0085\u00a0\u1680\u2000\u2003\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~¡§«¶·»¿‐–—‘’“”…‹›※⁂、。〈〉「」〜！？；：،؛؟।॥᠁⸘⹃€£±×÷°©®™"
SPECIALS = ["hot dog", "Hot DOG  ", "[CLS]", "[SEP]", "[MASK]", "[PAD]", "[UNK]", "[cls]", "[ MASK ]", "[MASK", "MASK]", "[[MASK]]", "##ing", "[unused1]"]
BAD = [b"\x80", b"\xff", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80", b"\xe2\x28\xa1", b"\xfe"]


def random_point(rng):
    while True:
        c = rng.choice([rng.randrange(0x300), rng.randrange(0x3000), rng.randrange(0x10000), rng.randrange(0x20000), rng.randrange(0x110000)])
        if not 0xD800 <= c < 0xE000:
            return chr(c)


def piece(rng):
    kind = rng.randrange(16)
    pick = lambda letters, most: "".join(rng.choice(letters) for _ in range(rng.randint(1, most)))
    if kind < 4:
        word = rng.choice(WORDS)
        return rng.choice([word, word.capitalize(), word.upper(), word + rng.choice(PUNCTUATION)])
    if kind == 4:
        return pick(ACCENTS, 8)
    if kind == 5:
        return pick(CJK, 8)
    if kind == 6:
        return pick(KANA_HANGUL, 8)
    if kind == 7:
        return pick(EMOJI, 4)
    if kind == 8:
        text = rng.choice(list(SCRIPTS.values()))
        begin = rng.randrange(len(text))
        return text[begin : begin + rng.randint(1, 20)]
    if kind == 9:
        return "".join(rng.choice("aeiouncsAZяα中İ") + pick(MARKS, 4) for _ in range(rng.randint(1, 5)))
    if kind == 10:
        return pick(CONTROLS + "ab", 6)
    if kind == 11:
        return pick(SPACES + "a", 5)
    if kind == 12:
        return pick(PUNCTUATION, 6)
    if kind == 13:
        return rng.choice(SPECIALS)
    if kind == 14:
        return "".join(random_point(rng) for _ in range(rng.randint(1, 8)))
    return pick("abcdefghijklmnopqrstuvwxyz", rng.choice([10, 99, 100, 101, 102, 250]))


def text_of(rng):
    parts = [piece(rng).encode() for _ in range(rng.choice([0, 1, 1, 2, 3, 5, 8, 13, 21]))]
    if rng.randrange(10) == 0:
        for _ in range(rng.randint(1, 3)):
            parts.insert(rng.randint(0, len(parts)), rng.choice(BAD))
    return rng.choice([b" ", b" ", b" ", b""]).join(parts)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("tokenizer", help="tokenizer.json")
    arguments.add_argument("--count", type=int, default=10000)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--max-length", type=int, default=0)
    arguments.add_argument("-o", "--output", default="-")
    options = arguments.parse_args()
    tokenizer = Tokenizer.from_file(options.tokenizer)
    tokenizer.no_padding()
    if options.max_length:
        tokenizer.enable_truncation(options.max_length)
    else:
        tokenizer.no_truncation()
    rng = random.Random(options.seed)
    out = sys.stdout if options.output == "-" else open(options.output, "w", encoding="utf-8")
    for _ in range(options.count):
        raw = text_of(rng)
        text = raw.decode("utf-8", errors="replace")
        item = {"text": text} if text.encode() == raw else {"base64": base64.b64encode(raw).decode()}
        item["ids"] = tokenizer.encode(text).ids
        out.write(json.dumps(item, ensure_ascii=True) + "\n")


if __name__ == "__main__":
    main()
