"""What hone's compilation and number formats do to reading: PP-OCR's recogniser on seeded lines of text in several fonts and sizes.
The text read from hone's f32 must be ONNX Runtime's on every line; each format's character error rate is printed and written to
bench/results.md. `make bench-ocr` runs it, from the root of the checkout; exits with 1 when a line differs.

usage: ocr.py HONE [--lines 200] [--threads 2] [--dry]
"""
import argparse
import pathlib
import random
import subprocess
import sys

import numpy as np
import onnxruntime
import results
from PIL import Image, ImageDraw, ImageFont

MODEL = pathlib.Path("build/models/pp-ocr/ch_PP-OCRv4_rec_infer.onnx")
WORK = pathlib.Path("build/bench/ocr")
FONTS = pathlib.Path("/usr/share/fonts/truetype")
LATIN = [FONTS / "dejavu" / f"DejaVu{name}.ttf" for name in ("Sans", "Sans-Bold", "SansMono", "Serif", "Serif-Bold")] + [
    FONTS / "liberation" / f"Liberation{name}.ttf" for name in ("Sans-Regular", "Sans-Italic", "Serif-Regular", "Serif-BoldItalic", "Mono-Regular")]
CHINESE = [FONTS / "wqy" / "wqy-microhei.ttc"]
WORDS = """invoice total station north river garden number delivery please return before Monday receipt quality engine seventeen
paper window light copper market bridge winter analysis temperature pressure between account journey Library Museum Hospital Street
version output measured faster smaller honest width height layer kernel graph value""".split()
HAN = "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面而方后多定行学法所民得经"
FORMATS = {"bf16": ["--to", "bf16", "--compute", "bf16"], "mxint8": ["--to", "mxint8"], "mxint4": ["--to", "mxint4"],
           "mxint4, convolutions mxint8": ["--to", "mxint4", "--rule", "op:conv=mxint8"]}
HEIGHT, STEP, WIDEST, BATCH = 48, 160, 640, 32  # images are padded to a multiple of STEP, so that few shapes are compiled


def made_up_text(rng):
    if rng.random() < 0.2:
        return "".join(rng.choice(HAN) for _ in range(rng.randint(4, 10))), rng.choice(CHINESE)
    words = [rng.choice(WORDS) for _ in range(rng.randint(1, 4))]
    words.insert(rng.randint(0, len(words)), rng.choice([str(rng.randint(1, 99999)), f"{rng.uniform(1, 999):.2f}", f"({rng.randint(1, 99)})"]))
    return " ".join(words), rng.choice(LATIN)


def rendered(text, font, rng):
    """A line of 12 to 40 pixels, dark on light or light on dark, scaled to the network's height."""
    face = ImageFont.truetype(str(font), rng.randint(12, 40))
    left, top, right, bottom = face.getbbox(text)
    margin = rng.randint(2, 6)
    dark, light = (tuple(rng.randint(*limits) for _ in range(3)) for limits in ((0, 90), (170, 255)))
    ink, ground = (dark, light) if rng.random() < 0.7 else (light, dark)
    image = Image.new("RGB", (right - left + 2 * margin, bottom - top + 2 * margin), ground)
    ImageDraw.Draw(image).text((margin - left, margin - top), text, ink, face)
    return image.resize((max(1, round(image.width * HEIGHT / image.height)), HEIGHT), Image.Resampling.BILINEAR)


def made_up_lines(count):
    rng, lines = random.Random(1), []
    while len(lines) < count:
        text, font = made_up_text(rng)
        image = rendered(text, font, rng)
        if image.width <= WIDEST:
            lines.append((text, image))
    return lines


def batches(lines):
    """Lines of about one width, as (their numbers, f32[n,3,48,width])."""
    by_width = {}
    for i, (_, image) in enumerate(lines):
        by_width.setdefault(-(-image.width // STEP) * STEP, []).append(i)
    for width, members in sorted(by_width.items()):
        for start in range(0, len(members), BATCH):
            part = members[start:start + BATCH]
            batch = np.zeros((len(part), 3, HEIGHT, width), np.float32)
            for row, i in enumerate(part):
                pixels = np.asarray(lines[i][1], np.float32)[:, :, ::-1]  # blue first, as it was trained
                batch[row, :, :, :pixels.shape[1]] = (pixels / 127.5 - 1).transpose(2, 0, 1)
            yield part, batch


def read(probabilities, characters):
    """Best class of each column, repeats merged, blanks (class 0) dropped: [n,columns,classes] to n texts."""
    texts = []
    for row in probabilities.argmax(-1):
        kept = [c for i, c in enumerate(row) if c != 0 and (i == 0 or c != row[i - 1])]
        texts.append("".join(characters[c - 1] for c in kept))
    return texts


def read_all(lines, characters, infer):
    texts = [""] * len(lines)
    for members, batch in batches(lines):
        for i, text in zip(members, read(infer(batch), characters)):
            texts[i] = text
    return texts


def hone_infer(program, model, threads):
    def infer(batch):
        np.save(WORK / "x.npy", batch)
        run(program, "run", model, "--threads", threads, "--input", f"x={WORK / 'x.npy'}", "--output-dir", WORK)
        return np.load(WORK / "softmax_11.tmp_0.npy")
    return infer


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr}")


def edits(a, b):
    """Levenshtein's distance."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]


def error_rate(truth, texts):
    return sum(edits(a, b) for a, b in zip(truth, texts)) / sum(map(len, truth))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hone")
    parser.add_argument("--lines", type=int, default=200)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--dry", action="store_true", help="print, but leave bench/results.md as it is")
    return parser.parse_args()


def main():
    args = arguments()
    WORK.mkdir(parents=True, exist_ok=True)
    lines = made_up_lines(args.lines)
    truth = [text for text, _ in lines]
    session = onnxruntime.InferenceSession(str(MODEL), providers=["CPUExecutionProvider"])
    characters = session.get_modelmeta().custom_metadata_map["character"].split("\n") + [" "]
    reference = read_all(lines, characters, lambda batch: session.run(None, {"x": batch})[0])
    rows = [["ONNX Runtime f32", MODEL.stat().st_size, f"{error_rate(truth, reference):.2%}", ""]]
    own = read_all(lines, characters, hone_infer(args.hone, MODEL, args.threads))
    same = sum(a == b for a, b in zip(own, reference))
    rows.append(["hone f32", MODEL.stat().st_size, f"{error_rate(truth, own):.2%}", f"{same} of {len(lines)}"])
    for wanted, found in zip(reference, own):
        if wanted != found:
            print(f"differs: ONNX Runtime reads {wanted!r}, hone {found!r}")
    for name, flags in FORMATS.items():
        model = WORK / f"{name.replace(', ', '-').replace(' ', '-')}.safetensors"
        run(args.hone, "quantize", MODEL, *flags, "-o", model)
        texts = read_all(lines, characters, hone_infer(args.hone, model, args.threads))
        equal = sum(a == b for a, b in zip(texts, reference))
        rows.append([f"hone {name}", model.stat().st_size, f"{error_rate(truth, texts):.2%}", f"{equal} of {len(lines)}"])
    text = (f"PP-OCRv4's recogniser on {len(lines)} rendered lines ({sum(map(len, truth))} characters), {len(LATIN) + len(CHINESE)} fonts, "
            "12 to 40 pixels, a fifth of them Chinese; a wrong, missing or extra character is an error.\n\n" +
            results.table(["system", "bytes of the file", "character error rate", "lines read as by ONNX Runtime"], rows))
    print(text)
    if not args.dry:
        results.write_section("Reading text in smaller formats", text)
    return 0 if same == len(lines) else 1


if __name__ == "__main__":
    sys.exit(main())
