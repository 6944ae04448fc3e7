#!/usr/bin/env python3
"""Tokenizers of every family that hone reads, made by `tokenizers` and `sentencepiece`, and what those make of seeded texts.

  bench/peers/tokenizers_parity.py OUT [--family NAME ...] [--vocabulary 8000] [--count 10000] [--seed 1]

For each family a folder OUT/NAME with tokenizer.json, texts.jsonl (texts, ids, and the characters that each token covers) and, where the family
had files of before tokenizer.json, a folder OUT/NAME/old with those. `bench_tokenizer OUT/NAME OUT/NAME/texts.jsonl` compares.
--small makes vocabularies of some hundred tokens, with a charsmap of a few rules, and few texts: tests/data/tokenizer/families is
  bench/peers/tokenizers_parity.py tests/data/tokenizer/families --small
With --real NAME=tokenizer.json a vocabulary that is at hand is used as it is; gguf:FILE reads SmolLM2's from a GGUF file.
"""
import argparse
import base64
import io
import json
import pathlib
import random
import sys
import tempfile
import time

import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import tokenizer_reference as reference

CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
CL100K = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
O200K = "|".join([
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + CONTRACTIONS + "?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + CONTRACTIONS + "?",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])
CLIP = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
ADDED = ["<|endoftext|>", "<|im_start|>", "<s>", "</s>", "<mask>", "[MASK]", "<pad>", "<unk>", "<bos>", "<start_of_turn>", "hot dog", "  Hot DOG", "word"]
CODE = ["for (int i = 0; i < n; ++i) {\n\treturn a[i];\n}", "def f(x):\n    return x ** 2  # squared\n\n\n", "x_1+=0x1F;//..", "\r\n\r\n\t\t", "DON'T we'LL I'VE it'ſ y'all's",
        "camelCaseWords HTTPServer iPhone15Pro", "3.14159 1,000,000 ½ ٣٤٥ ४५ Ⅷ", "a  b   c    ", " \u00a0 \u3000x", "▁under ▁▁ _", "``quoted'' \"text\"", "<0x41> <unk> <s>"]


# Code points to code points, as SentencePiece's rules are written: what --small has instead of nmt_nfkc.
SMALL_RULES = """9\t20\n A\t20\n D\t20\n A0\t20\n 3000\t20\n 2126\t3A9\n FB01\t66 69\n BD\t31 2044 32\n 2026\t2E 2E 2E\n 41 301\tC1\n 65 301\tE9\n FF48\t68\n 200B\t\n 7F\t\n"""
small = False


def text_of(rng):
    parts = []
    for _ in range(rng.choice([0, 1, 1, 2, 3, 5, 8, 13, 21])):
        kind = rng.randrange(10)
        parts.append(rng.choice(CODE) if kind == 0 else rng.choice(ADDED) if kind == 1 else reference.piece(rng))
    return rng.choice([" ", " ", " ", "", "\n", "  "]).join(parts)


def corpus(rng, texts):
    """What vocabularies are trained on: words of many scripts with repeats, and this machine's own documentation."""
    import pydoc_data.topics
    lines = [line for topic in pydoc_data.topics.topics.values() for line in topic.splitlines() if line.strip()]
    lines += [text_of(rng).replace("\0", " ") for _ in range(texts)]
    rng.shuffle(lines)
    return lines


def byte_bpe(size, lines, pre, normalizer=None, suffix=None, specials=("<|endoftext|>",), unk=None, **model):
    named = lambda **options: {key: value for key, value in options.items() if value is not None}
    tokenizer = Tokenizer(models.BPE(**named(unk_token=unk, end_of_word_suffix=suffix), **model))
    tokenizer.pre_tokenizer = pre
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=list(specials), initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False, **named(end_of_word_suffix=suffix))
    tokenizer.train_from_iterator(lines, trainer)
    return tokenizer


def split_then_bytes(pattern, behavior="isolated", invert=False, regex=False):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), behavior, invert), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=regex)])


def plain(size, lines, _):
    return byte_bpe(size, lines, pre_tokenizers.ByteLevel(add_prefix_space=False))


def gpt2(size, lines, old):
    t = plain(size, lines, old)
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    write_byte_files(t, old, {"tokenizer_class": "GPT2Tokenizer"})
    return t


def roberta(size, lines, old):
    t = byte_bpe(size, lines, pre_tokenizers.ByteLevel(add_prefix_space=False), specials=("<s>", "<pad>", "</s>", "<unk>", "<mask>"))
    t.add_special_tokens([AddedToken("<mask>", lstrip=True, normalized=False, special=True)])
    t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False)
    write_byte_files(t, old, {"tokenizer_class": "RobertaTokenizer"})
    return t


def roberta_prefix(size, lines, _):
    t = byte_bpe(size, lines, pre_tokenizers.ByteLevel(add_prefix_space=True), specials=("<s>", "<pad>", "</s>", "<unk>", "<mask>"))
    t.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    t.add_tokens([AddedToken("word", single_word=True), AddedToken("hot dog", rstrip=True)])
    t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=True)
    return t


def neox(size, lines, _):
    t = byte_bpe(size, lines, pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=True), normalizers.NFC())
    t.post_processor = processors.ByteLevel(trim_offsets=True, add_prefix_space=False)
    t.add_tokens(["  ", "   ", "    "])
    return t


def smollm2(size, lines, _):
    pre = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    return byte_bpe(size, lines, pre, specials=("<|endoftext|>", "<|im_start|>", "<|im_end|>"))


def qwen2(size, lines, old):
    t = byte_bpe(size, lines, split_then_bytes(CL100K % r"\p{N}"), normalizers.NFC(), specials=("<|endoftext|>", "<|im_start|>"))
    t.post_processor = processors.ByteLevel(trim_offsets=False, add_prefix_space=False, use_regex=False)
    write_byte_files(t, old, {"tokenizer_class": "Qwen2Tokenizer", "added_tokens_decoder": {"1": {"content": "<|im_start|>", "special": True}}})
    return t


def llama3(size, lines, _):
    t = byte_bpe(size, lines, split_then_bytes(CL100K % r"\p{N}{1,3}"), specials=("<|begin_of_text|>", "<|endoftext|>"), ignore_merges=True)
    t.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=True), processors.TemplateProcessing(
        single="<|begin_of_text|> $A", pair="<|begin_of_text|>:0 $A:0 <|begin_of_text|>:1 $B:1", special_tokens=[("<|begin_of_text|>", 0)])])
    return t


def o200k(size, lines, _):
    t = byte_bpe(size, lines, split_then_bytes(O200K), ignore_merges=True)
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    return t


def whisper(size, lines, _):
    t = byte_bpe(size, lines, pre_tokenizers.ByteLevel(add_prefix_space=False), specials=("<|endoftext|>", "<|startoftranscript|>", "<|notimestamps|>"))
    t.post_processor = processors.TemplateProcessing(single="<|startoftranscript|> <|notimestamps|> $A <|endoftext|>", pair="<|startoftranscript|> <|notimestamps|> $A $B <|endoftext|>",
                                                     special_tokens=[("<|startoftranscript|>", 1), ("<|notimestamps|>", 2), ("<|endoftext|>", 0)])
    return t


def clip(size, lines, old):
    normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()])
    pre = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(CLIP), "removed", True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    t = byte_bpe(size, lines, pre, normalizer, "</w>", ("<|startoftext|>", "<|endoftext|>"), unk="<|endoftext|>")
    state = json.loads(t.to_str())  # bytes that end a word are tokens, too, as in CLIP's own vocabulary
    vocabulary = state["model"]["vocab"]
    for letter in sorted(pre_tokenizers.ByteLevel.alphabet()):
        vocabulary.setdefault(letter + "</w>", len(vocabulary))
    t = Tokenizer.from_str(json.dumps(state))
    t.post_processor = processors.RobertaProcessing(("<|endoftext|>", 1), ("<|startoftext|>", 0), trim_offsets=False, add_prefix_space=False)
    write_byte_files(t, old, {"tokenizer_class": "CLIPTokenizer"})
    return t


def deberta(size, lines, old):
    t = byte_bpe(size, lines, pre_tokenizers.ByteLevel(add_prefix_space=False), specials=("[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"))
    t.add_special_tokens([AddedToken("[MASK]", lstrip=True, special=True)])
    t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1", special_tokens=[("[CLS]", 0), ("[SEP]", 2)])
    write_byte_files(t, old, {"tokenizer_class": "DebertaTokenizer"})
    return t


def write_byte_files(tokenizer, old, config):
    state = json.loads(tokenizer.to_str())["model"]
    old.mkdir(parents=True, exist_ok=True)
    (old / "vocab.json").write_text(json.dumps(state["vocab"], ensure_ascii=False))
    (old / "merges.txt").write_text("#version: 0.2\n" + "\n".join(" ".join(pair) for pair in state["merges"]) + "\n")
    (old / "tokenizer_config.json").write_text(json.dumps(config))


def train_pieces(size, lines, kind, **options):
    """SentencePiece's own trainer: pieces with scores, and the charsmap of its normalizer."""
    model = io.BytesIO()
    lines = [line for line in lines if "\0" not in line and "\n" not in line]
    coverage = 0.9995
    if small:
        coverage = 0.98
        if "normalization_rule_name" not in options or options["normalization_rule_name"] != "identity":
            options.pop("normalization_rule_name", None)
            rules = pathlib.Path(tempfile.mkdtemp()) / "rules.tsv"
            rules.write_text(SMALL_RULES.replace("\n ", "\n"))
            options["normalization_rule_tsv"] = str(rules)
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=model, vocab_size=size, model_type=kind, hard_vocab_limit=False, character_coverage=coverage,
                                             minloglevel=2, num_threads=1, **options)
    from sentencepiece import sentencepiece_model_pb2
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(model.getvalue())
    return proto, model.getvalue()


def write_pieces(data, old, name, config):
    old.mkdir(parents=True, exist_ok=True)
    (old / name).write_bytes(data)
    (old / "tokenizer_config.json").write_text(json.dumps(config))


def unigram(pieces, unknown, normalizer, pre=None):
    t = Tokenizer(models.Unigram(pieces, unknown, False))
    t.normalizer = normalizers.Sequence(normalizer)
    t.pre_tokenizer = pre or pre_tokenizers.Metaspace("▁", "always")
    t.decoder = decoders.Metaspace("▁", "always")
    return t


def scored(proto):
    return [(p.piece, p.score) for p in proto.pieces]


def charsmap(proto):
    return normalizers.Precompiled(proto.normalizer_spec.precompiled_charsmap)


def usual(proto):
    return [charsmap(proto), normalizers.Strip(left=False, right=True), normalizers.Replace(Regex(" {2,}"), "▁")]


def xlm_roberta(size, lines, old):
    proto, data = train_pieces(size, lines, "unigram", normalization_rule_name="nmt_nfkc")
    pieces = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)] + scored(proto)[3:] + [("<mask>", 0.0)]
    t = unigram(pieces, 3, usual(proto))
    t.add_special_tokens(["<s>", "<pad>", "</s>", "<unk>", AddedToken("<mask>", lstrip=True, normalized=False, special=True)])
    t.post_processor = processors.TemplateProcessing(single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    write_pieces(data, old, "sentencepiece.bpe.model", {"tokenizer_class": "XLMRobertaTokenizer"})
    return t


def xlm_roberta_words(size, lines, _):
    proto, _ = train_pieces(size, lines, "unigram", normalization_rule_name="nmt_nfkc")
    pieces = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)] + scored(proto)[3:] + [("<mask>", 0.0)]
    t = unigram(pieces, 3, [charsmap(proto)], pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace("▁", "always")]))
    t.add_special_tokens(["<s>", "<pad>", "</s>", "<unk>", AddedToken("<mask>", lstrip=True, special=True)])
    t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=True)
    return t


def albert(size, lines, old):
    proto, data = train_pieces(size, [line.lower() for line in lines], "unigram", pad_id=0, unk_id=1, bos_id=-1, eos_id=-1, control_symbols=["[CLS]", "[SEP]", "[MASK]"], pad_piece="<pad>")
    comma = lambda p: len(p) >= 2 and p[-1] == "," and p[-2] in "0123456789"
    t = unigram([(p, s - 100 if comma(p) else s) for p, s in scored(proto)], 1, [
        normalizers.Replace("``", '"'), normalizers.Replace("''", '"'), normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase(), charsmap(proto), normalizers.Replace(Regex(" {2,}"), " ")])
    t.add_special_tokens(["<pad>", "<unk>", "[CLS]", "[SEP]", AddedToken("[MASK]", lstrip=True, normalized=False, special=True)])
    t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    write_pieces(data, old, "spiece.model", {"tokenizer_class": "AlbertTokenizer"})
    return t


def t5(size, lines, old):
    proto, data = train_pieces(size, lines, "unigram", pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    extra = [(f"<extra_id_{i}>", 0.0) for i in range(99, -1, -1)]
    t = unigram(scored(proto) + extra, 2, usual(proto))
    t.add_special_tokens(["<pad>", "</s>", "<unk>"] + [p for p, _ in extra])
    t.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)])
    write_pieces(data, old, "spiece.model", {"tokenizer_class": "T5Tokenizer"})
    return t


def deberta_v2(size, lines, old):
    proto, data = train_pieces(size, lines, "unigram", pad_id=0, bos_id=1, eos_id=2, unk_id=3, pad_piece="[PAD]", bos_piece="[CLS]", eos_piece="[SEP]", unk_piece="[UNK]")
    t = unigram(scored(proto), 3, [normalizers.Strip(), charsmap(proto), normalizers.Replace(Regex(" {2,}"), " ")])
    t.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    config = {"tokenizer_class": "DebertaV2Tokenizer", "pad_token": "[PAD]", "unk_token": "[UNK]"}
    write_pieces(data, old, "spm.model", dict(config, added_tokens_decoder={str(len(proto.pieces)): {"content": "[MASK]", "special": True}}))
    return t


def merges_of(pieces):
    """As transformers' generate_merges: the file has results of merges, with scores."""
    ids = {p: i for i, (p, _) in enumerate(pieces)}
    merges = []
    for piece, score in pieces:
        halves = [(piece[:i], piece[i:], score) for i in range(1, len(piece)) if piece[:i] in ids and piece[i:] in ids]
        merges += sorted(halves, key=lambda h: (ids[h[0]], ids[h[1]]))
    return [(a, b) for a, b, _ in sorted(merges, key=lambda h: (h[2], len(h[0]), len(h[1])), reverse=True)]


def llama(size, lines, old, legacy):
    proto, data = train_pieces(size, lines, "bpe", byte_fallback=True, normalization_rule_name="identity")
    pieces = scored(proto)
    t = Tokenizer(models.BPE({p: i for i, (p, _) in enumerate(pieces)}, merges_of(pieces), unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    if legacy:
        t.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    else:
        t.pre_tokenizer = pre_tokenizers.Metaspace("▁", "first", False)
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    t.add_special_tokens([AddedToken(p, normalized=False, special=True) for p in ("<unk>", "<s>", "</s>")])
    t.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)])
    write_pieces(data, old, "tokenizer.model", {"tokenizer_class": "LlamaTokenizer", "legacy": legacy})
    return t


def gemma(size, lines, _):
    proto, _ = train_pieces(size, lines, "bpe", byte_fallback=True, normalization_rule_name="identity", pad_id=0, eos_id=1, bos_id=2, unk_id=3, pad_piece="<pad>", bos_piece="<bos>", eos_piece="<eos>")
    pieces = scored(proto)
    t = Tokenizer(models.BPE({p: i for i, (p, _) in enumerate(pieces)}, merges_of(pieces), unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    t.normalizer = normalizers.Replace(" ", "▁")
    t.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    t.add_special_tokens([AddedToken(p, normalized=False, special=True) for p in ("<pad>", "<eos>", "<bos>", "<unk>", "<start_of_turn>")])
    t.add_tokens([AddedToken("  ", normalized=False), AddedToken("\n\n", normalized=False)])
    t.post_processor = processors.TemplateProcessing(single="<bos> $A", pair="<bos> $A <bos>:1 $B:1", special_tokens=[("<bos>", 2)])
    return t


def bert(size, lines, _, lowercase=True):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    t.train_from_iterator(lines, trainers.WordPieceTrainer(vocab_size=size, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False))
    t.add_tokens([AddedToken("Hot DOG", rstrip=True, normalized=True), AddedToken("word", single_word=True)])
    t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return t


FAMILIES = {
    "gpt2": gpt2, "roberta": roberta, "roberta_prefix": roberta_prefix, "neox": neox, "smollm2": smollm2, "qwen2": qwen2, "llama3": llama3, "o200k": o200k, "whisper": whisper, "clip": clip,
    "deberta": deberta, "llama2": lambda s, l, o: llama(s, l, o, True), "mistral": lambda s, l, o: llama(s, l, o, False), "gemma": gemma, "xlm_roberta": xlm_roberta,
    "xlm_roberta_words": xlm_roberta_words, "albert": albert, "t5": t5, "deberta_v2": deberta_v2, "bert": bert, "bert_cased": lambda s, l, o: bert(s, l, o, False)}


def gguf_tokenizer(path):
    """SmolLM2's tokenizer.json by hand: the file has tokens and merges, and its rules are known."""
    from gguf import GGUFReader
    fields = GGUFReader(path).fields
    texts = lambda key: [bytes(fields[key].parts[i]).decode() for i in fields[key].data]
    tokens, merges, kinds = texts("tokenizer.ggml.tokens"), texts("tokenizer.ggml.merges"), [int(fields["tokenizer.ggml.token_type"].parts[i][0]) for i in fields["tokenizer.ggml.token_type"].data]
    t = Tokenizer(models.BPE({text: i for i, text in enumerate(tokens)}, [tuple(m.split(" ")) for m in merges]))
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    t.decoder = decoders.ByteLevel()
    t.add_special_tokens([AddedToken(text, normalized=False, special=True) for text, kind in zip(tokens, kinds) if kind == 3])
    return t


def tiktoken_tokenizer(path):
    """Whisper's: ranks of tokens, from which merges follow."""
    ranks = {base64.b64decode(line.split()[0]): int(line.split()[1]) for line in open(path) if line.strip()}
    letters = byte_letters()
    spell = lambda token: "".join(letters[b] for b in token)
    merges = []
    for token, rank in ranks.items():
        if len(token) < 2:
            continue
        parts = [token[i:i + 1] for i in range(len(token))]
        while len(parts) > 2:  # the last merge joins two
            best = min(range(len(parts) - 1), key=lambda i: ranks.get(parts[i] + parts[i + 1], 1 << 30))
            parts[best:best + 2] = [parts[best] + parts[best + 1]]
        merges.append((rank, spell(parts[0]), spell(parts[1])))
    t = Tokenizer(models.BPE({spell(token): rank for token, rank in ranks.items()}, [(a, b) for _, a, b in sorted(merges)]))
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    t.add_special_tokens(["<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|transcribe|>", "<|notimestamps|>"])
    start = t.token_to_id("<|startoftranscript|>")
    t.post_processor = processors.TemplateProcessing(single="<|startoftranscript|> <|notimestamps|> $A <|endoftext|>", pair=None,
                                                     special_tokens=[("<|startoftranscript|>", start), ("<|notimestamps|>", start + 3), ("<|endoftext|>", start - 1)])
    return t


def byte_letters():
    plain_bytes = [*range(33, 127), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    letters = {b: chr(b) for b in plain_bytes}
    letters.update({b: chr(256 + i) for i, b in enumerate(b for b in range(256) if b not in letters)})
    return letters


def real(path):
    if path.startswith("gguf:"):
        return gguf_tokenizer(path[5:])
    if path.startswith("tiktoken:"):
        return tiktoken_tokenizer(path[9:])
    return Tokenizer.from_file(path)


def write_texts(tokenizer, path, rng, count):
    tokenizer.no_padding()
    tokenizer.no_truncation()
    # Bytes that are no UTF-8 are decoded by another rule behind ByteFallback (docs/tokenizers.md).
    drawn = sorted(i for token, i in tokenizer.get_vocab().items() if not token.startswith("<0x"))
    with open(path, "w") as out:
        for _ in range(count):
            text = text_of(rng)
            encoding = tokenizer.encode(text)
            ids = rng.sample(drawn, 3) if rng.randrange(4) == 0 else encoding.ids
            item = {"text": text, "ids": encoding.ids, "ranges": [list(range_) for range_ in encoding.offsets], "decoded_ids": ids, "decoded": tokenizer.decode(ids)}
            out.write(json.dumps(item, ensure_ascii=True) + "\n")


def encode_speed(tokenizer, lines):
    """MB of text a second by `encode`, of the thread's own time."""
    best = float("inf")
    for _ in range(3):
        start = time.thread_time()
        for line in lines:
            tokenizer.encode(line)
        best = min(best, time.thread_time() - start)
    return sum(len(line.encode()) + 1 for line in lines) / best / 1e6


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("out", type=pathlib.Path)
    arguments.add_argument("--family", nargs="*", choices=list(FAMILIES))
    arguments.add_argument("--real", action="append", default=[], help="NAME=tokenizer.json, NAME=gguf:FILE or NAME=tiktoken:FILE")
    arguments.add_argument("--vocabulary", type=int, default=8000)
    arguments.add_argument("--lines", type=int, default=20000, help="seeded texts to train on, besides documentation")
    arguments.add_argument("--count", type=int, default=10000)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--small", action="store_true")
    arguments.add_argument("--speed", action="store_true", help="also OUT/lines.txt, and in OUT/NAME/peer.json how many MB of it a second the library tokenises")
    options = arguments.parse_args()
    global small
    if small := options.small:
        options.vocabulary, options.lines, options.count = 420, 60, 40
    lines = corpus(random.Random(options.seed), options.lines)
    import pydoc_data.topics
    prose = [" ".join(part.split()) for topic in pydoc_data.topics.topics.values() for part in topic.split("\n\n")] * 4
    if options.speed:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "lines.txt").write_text("\n".join(prose))
    made = [(name, lambda old, name=name: FAMILIES[name](options.vocabulary, lines, old)) for name in options.family or ([] if options.real else FAMILIES)]
    made += [(item.split("=", 1)[0], lambda _, item=item: real(item.split("=", 1)[1])) for item in options.real]
    for name, make in made:
        folder = options.out / name
        folder.mkdir(parents=True, exist_ok=True)
        tokenizer = make(folder / "old")
        tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
        write_texts(tokenizer, folder / "texts.jsonl", random.Random(options.seed), options.count)
        if options.speed:
            (folder / "peer.json").write_text(json.dumps({"mb_per_second": encode_speed(tokenizer, prose)}))
        print(name, tokenizer.get_vocab_size(), flush=True)


if __name__ == "__main__":
    main()
