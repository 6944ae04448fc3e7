"""What the processors of transformers make of an image and of a sound: the goldens of tests/data/preprocessors.

usage: preprocessors.py FOLDER

images.safetensors: "image", "resized.FILTER.HEIGHTxWIDTH" by Pillow, and of each processor whose preprocessor_config.json is in the metadata under its name
"pillow.NAME" and "torchvision.NAME" by its two backends. sounds.safetensors: "wav.KIND", bytes of files, and "NAME" by the processor in the metadata, in f64
where it computes so.
"""
import io
import json
import pathlib
import struct
import sys
import wave

import numpy as np
import torch
import transformers as t
from PIL import Image
from safetensors.numpy import save_file

FILTERS = {"lanczos": 1, "bilinear": 2, "bicubic": 3, "box": 4, "hamming": 5}
SIZES = [(5, 9), (45, 30), (37, 20), (12, 53)]


def photo(rng, height=37, width=53):
    y, x = np.mgrid[:height, :width]
    smooth = np.stack([np.sin(x / 5 + y / 9), np.cos(x / 3), (x + y) / (height + width)])
    return np.clip(128 + 80 * smooth + rng.normal(0, 30, (3, height, width)), 0, 255).astype(np.uint8)


def processors():
    mean, std = [0.4814, 0.4578, 0.4082], [0.2686, 0.2613, 0.2757]
    crop = {"height": 12, "width": 14}
    yield "vit", "ViT", dict(size={"height": 12, "width": 10})
    yield "deit", "DeiT", dict(size={"height": 20, "width": 16}, crop_size=crop)
    yield "clip", "CLIP", dict(size={"shortest_edge": 16}, crop_size=crop, image_mean=mean, image_std=std)
    yield "bit", "Bit", dict(size={"shortest_edge": 15}, crop_size={"height": 11, "width": 11}, resample=2)
    yield "convnext", "ConvNext", dict(size={"shortest_edge": 14}, crop_pct=0.8)
    yield "mobilenet", "MobileNetV2", dict(size={"shortest_edge": 18}, crop_size=crop)
    yield "unscaled", "ViT", dict(size={"height": 9, "width": 9}, do_rescale=False, image_mean=[100.0, 110.0, 120.0], image_std=[50.0, 60.0, 70.0])
    yield "plain", "CLIP", dict(size={"shortest_edge": 12}, do_center_crop=False, do_normalize=False)
    yield "padded", "CLIP", dict(do_resize=False, crop_size={"height": 41, "width": 20})


def images(folder):
    image = photo(np.random.default_rng(1))
    tensors, metadata = {"image": image}, {}
    picture = Image.fromarray(image.transpose(1, 2, 0))
    for name, number in FILTERS.items():
        for height, width in SIZES:
            resized = np.asarray(picture.resize((width, height), number)).transpose(2, 0, 1)
            tensors[f"resized.{name}.{height}x{width}"] = np.ascontiguousarray(resized)
    for name, kind, settings in processors():
        for backend, ending in (("torchvision", "ImageProcessor"), ("pillow", "ImageProcessorPil")):
            if name == "padded" and backend == "pillow":
                continue  # puts the odd line of black elsewhere
            processor = getattr(t, kind + ending)(**settings)
            if backend == "torchvision":
                metadata[name] = json.dumps(processor.to_dict())
            values = processor(picture, return_tensors="np")["pixel_values"][0]
            tensors[f"{backend}.{name}"] = np.ascontiguousarray(np.asarray(values, np.float32))
    save_file(tensors, folder / "images.safetensors", metadata)


def wav_bytes(samples, width, channels=1):
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(channels)
        out.setsampwidth(width)
        out.setframerate(16000)
        out.writeframes(samples)
    return np.frombuffer(file.getvalue(), np.uint8)


def sounds(folder):
    rng = np.random.default_rng(2)
    time = np.arange(4000) / 16000
    wave16 = (12000 * np.sin(2 * np.pi * (300 + 800 * time) * time) + rng.normal(0, 300, time.size)).astype("<i2")
    short = wave16[:40]
    packed24 = b"".join(struct.pack("<i", int(v) * 256)[:3] for v in short)
    tensors = {"wav.pcm16": wav_bytes(wave16.tobytes(), 2), "wav.pcm24": wav_bytes(packed24, 3),
               "wav.pcm8": wav_bytes((short // 256 + 128).astype(np.uint8).tobytes(), 1),
               "wav.stereo": wav_bytes(np.stack([short, -short // 2], 1).astype("<i2").tobytes(), 2, 2)}
    waveform = wave16.astype(np.float32) / 32768
    whisper = t.WhisperFeatureExtractor(feature_size=20, chunk_length=1)
    padded = np.zeros(16000, np.float32)
    padded[:waveform.size] = waveform
    wav2vec2 = t.Wav2Vec2FeatureExtractor(do_normalize=True)
    tensors["waveform"] = waveform
    tensors["whisper"] = np.ascontiguousarray(whisper._np_extract_fbank_features(padded[None], "cpu")[0].astype(np.float64))
    tensors["wav2vec2"] = np.asarray(wav2vec2(waveform, sampling_rate=16000, return_tensors="np")["input_values"][0], np.float32)
    config = whisper.to_dict()
    config.pop("mel_filters", None)
    save_file(tensors, folder / "sounds.safetensors", {"whisper": json.dumps(config), "wav2vec2": json.dumps(wav2vec2.to_dict())})


if __name__ == "__main__":
    torch.set_num_threads(1)
    where = pathlib.Path(sys.argv[1])
    where.mkdir(parents=True, exist_ok=True)
    images(where)
    sounds(where)
