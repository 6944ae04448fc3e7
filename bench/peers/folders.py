"""Folders of every family and head that is no decoder, with random weights, as transformers writes them: opened, run, trained, quantized and reopened by
hone; and at MiniLM's size each family beside ONNX Runtime and OpenVINO on its export, one thread, interleaved.

usage: folders.py HONE [--only TEXT]... [--checks] [--speed | --make] [--rounds 40] [--dry]          (from the root of the checkout)

A check: `hone run` agrees with transformers in f64; the loss of one step of `hone train` and every weight after it agree with PyTorch's (where a layer is
added, the step has to run); `hone quantize` writes .safetensors and .onnx, which reopen and agree with each other; `hone export` agrees with the folder.
Without --checks or --speed both are done. Exit code 1 when a check fails for another reason than a head that hone has no loss for; tables go into bench/results.md, of what all calls found.
"""
import argparse
import copy
import dataclasses
import datetime
import importlib.metadata
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
import numpy as np
import torch
import transformers as t
from safetensors.numpy import load_file

import results
from families import draw, seed_of, settle
from interleaved import Hone, interval, ratio, rounds, timed

WORK = pathlib.Path("build/bench/folders")
FORMAT, RATE, CLASSES, BATCH, TOKENS = "mxint8", 0.01, 3, 4, 12
AGREES = 1e-5  # of the largest magnitude of an output, or four times PyTorch's own distance from f64
STEP_AGREES = 2e-3  # of the largest change of a tensor in a step, or four times what a rounding of weights makes of PyTorch's own
NEIGHBOURS = 8  # that begin one rounding away: beyond the kinks of deep networks without a smooth activation, some cross one
MOMENTUM = 0.1  # of batch norms in both; transformers says 0.9997 and 0.997 of MobileNets, with which only the last batch would count
NO_LOSS = "hone has no loss for this head"
TARGET, TIMED = 0.95, "timed.json"


@dataclasses.dataclass
class Folder:
    """`labels`: what a step of training is about: "classes", "places", "words" (classes of [B,S]), "added" or "" (nothing that hone trains)."""
    architecture: str
    config: t.PretrainedConfig
    inputs: object  # a generator to {name: array}
    outputs: dict  # our name -> attribute of the model's output, or a function of model and inputs
    labels: str
    call: dict = dataclasses.field(default_factory=dict)

    @property
    def name(self):
        gated = " (gated)" if "gated" in getattr(self.config, "feed_forward_proj", "") else ""
        return f"{self.config.model_type} {self.architecture}{gated}"

    def model(self):
        model = getattr(t, self.architecture)(self.config).eval().float()
        draw(self.name, model)
        settle(self, model, self.inputs(np.random.default_rng(1)))
        return model

    def tensors(self, inputs, dtype=torch.float32):
        return {k: torch.from_numpy(v).to(dtype) if v.dtype == np.float32 else torch.from_numpy(v) for k, v in inputs.items()}

    def compute(self, model, inputs, dtype=torch.float32):
        """Outputs by our names, with gradients."""
        tensors, result, given = self.tensors(inputs, dtype), {}, None
        for name, what in self.outputs.items():
            if not callable(what) and given is None:
                given = model(**tensors, **self.call)
            result[name] = what(model, tensors) if callable(what) else given[what]
        return result


# --- the families ----------------------------------------------------------------------------------------------------

LABELS = {"id2label": {str(i): str(i) for i in range(CLASSES)}, "label2id": {str(i): i for i in range(CLASSES)}}
STATES = {"last_hidden_state": "last_hidden_state"}
POOLED = STATES | {"pooler_output": "pooler_output"}
LOGITS = {"logits": "logits"}
SPANS = {"start_logits": "start_logits", "end_logits": "end_logits"}
SMALL = dict(vocab_size=200, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128)
MINILM = dict(vocab_size=5000, hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536)


def texts(vocabulary, batch=BATCH, length=TOKENS, pad=0, padded=True):
    def make(rng):
        ids = rng.integers(5, vocabulary, (batch, length))
        mask = np.ones((batch, length), np.int64)
        if padded:
            mask[1, length - 4:] = 0
        return {"input_ids": np.where(mask == 1, ids, pad), "attention_mask": mask}
    return make


def distil(sizes):
    names = dict(hidden_size="dim", num_hidden_layers="n_layers", num_attention_heads="n_heads", intermediate_size="hidden_dim")
    return {names.get(k, k): v for k, v in sizes.items()}


def t5(sizes):
    return dict(vocab_size=sizes["vocab_size"], d_model=sizes["hidden_size"], d_kv=sizes["hidden_size"] // sizes["num_attention_heads"],
                d_ff=sizes["intermediate_size"], num_layers=sizes["num_hidden_layers"], num_heads=sizes["num_attention_heads"])


FAR = dict(relative_attention=True, position_biased_input=False, pos_att_type=["c2p", "p2c"], type_vocab_size=0, pad_token_id=0)
MODERN = dict(pad_token_id=0, bos_token_id=1, cls_token_id=1, eos_token_id=2, sep_token_id=2, local_attention=16)
# Prefix of the classes; configuration; sizes as it names them; its own keys; the id of padding; what the encoder gives; further heads.
TEXTS = [
    ("Bert", t.BertConfig, dict, {}, 0, POOLED, ["ForNextSentencePrediction", "ForPreTraining"]),
    ("Roberta", t.RobertaConfig, dict, dict(pad_token_id=1), 1, POOLED, []),
    ("XLMRoberta", t.XLMRobertaConfig, dict, dict(pad_token_id=1), 1, POOLED, []),
    ("Camembert", t.CamembertConfig, dict, dict(pad_token_id=1), 1, POOLED, []),
    ("DistilBert", t.DistilBertConfig, distil, {}, 0, STATES, []),
    ("MPNet", t.MPNetConfig, dict, dict(pad_token_id=1), 1, POOLED, []),
    ("Electra", t.ElectraConfig, dict, dict(embedding_size=48), 0, STATES, ["ForPreTraining"]),
    ("Albert", t.AlbertConfig, dict, dict(embedding_size=48), 0, POOLED, ["ForPreTraining"]),
    ("Deberta", t.DebertaConfig, dict, dict(FAR, max_relative_positions=64), 0, STATES, []),
    ("DebertaV2", t.DebertaV2Config, dict, dict(FAR, position_buckets=32, norm_rel_ebd="layer_norm", share_att_key=True), 0, STATES, []),
    ("ModernBert", t.ModernBertConfig, dict, MODERN, 0, STATES, []),
]
HEADS = {"Model": (None, "added"), "ForSequenceClassification": (LOGITS, "classes"), "ForTokenClassification": (LOGITS, "places"),
         "ForMaskedLM": (LOGITS, "words"), "ForQuestionAnswering": (SPANS, "")}
PRETRAINING = {"Bert": {"prediction_logits": "prediction_logits", "seq_relationship_logits": "seq_relationship_logits"},
               "Albert": {"prediction_logits": "prediction_logits", "sop_logits": "sop_logits"}, "Electra": LOGITS}


def text_folders(sizes, inputs):
    for prefix, config, named, own, pad, states, further in TEXTS:
        keys = named(sizes) | own
        given = inputs(sizes["vocab_size"], pad=pad)
        for ending, (outputs, labels) in HEADS.items():
            more = LABELS if labels in ("classes", "places") else {}
            yield Folder(prefix + ending, config(**keys, **more), given, outputs or states, labels)
        for ending in further:
            outputs = LOGITS if ending == "ForNextSentencePrediction" else PRETRAINING[prefix]
            yield Folder(prefix + ending, config(**keys), given, outputs, "classes2" if ending == "ForNextSentencePrediction" else "")
    for gated in ("relu", "gated-gelu"):
        yield Folder("T5EncoderModel", t.T5Config(**t5(sizes), feed_forward_proj=gated), inputs(sizes["vocab_size"], pad=0), STATES, "added")


def pixels(size, batch=BATCH):
    return lambda rng: {"pixel_values": rng.normal(0, 1, (batch, 3, size, size)).astype(np.float32)}


def clip_texts(batch, length):
    def make(rng):
        ids = rng.integers(5, 90, (batch, length))
        ids[:, -1] = 99
        return {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    return make


def vision_folders(sizes, side, patch, batch):
    tall = {k: v for k, v in sizes.items() if k != "vocab_size"} | dict(image_size=side, patch_size=patch)
    seen = pixels(side, batch)
    narrow = {k: v for k, v in tall.items() if k != "intermediate_size"} | dict(mlp_ratio=sizes["intermediate_size"] // sizes["hidden_size"])
    small = side < 100
    # A step of 52 layers that bend is not comparable: a rounding puts some value on the other side of a bend. MobileNetV2's small folder bends nowhere.
    nets = [("ViT", t.ViTConfig(**tall, **LABELS)), ("DeiT", t.DeiTConfig(**tall, **LABELS)), ("Dinov2", t.Dinov2Config(**narrow, **LABELS)),
            ("ConvNext", t.ConvNextConfig(**(dict(hidden_sizes=[16, 32], depths=[1, 2], num_stages=2) if small else {}), **LABELS)),
            ("ResNet", t.ResNetConfig(**(dict(embedding_size=16, hidden_sizes=[32, 64], depths=[1, 2]) if small else {}), **LABELS)),
            ("MobileNetV1", t.MobileNetV1Config(depth_multiplier=0.25 if small else 1.0, **LABELS)),
            ("MobileNetV2", t.MobileNetV2Config(**(dict(depth_multiplier=0.35, hidden_act="silu") if small else {}), **LABELS))]
    for prefix, config in nets:
        yield Folder(f"{prefix}ForImageClassification", config, seen, LOGITS, "classes")
        yield Folder(f"{prefix}Model", config, seen, POOLED, "added")
    teacher = {"logits": "logits", "cls_logits": "cls_logits", "distillation_logits": "distillation_logits"}
    yield Folder("DeiTForImageClassificationWithTeacher", t.DeiTConfig(**tall, **LABELS), seen, teacher, "")
    text = dict(sizes, vocab_size=100, max_position_embeddings=128, eos_token_id=99, pad_token_id=1)
    both = t.CLIPConfig(text_config=dict(text, projection_dim=48), vision_config=dict(tall, projection_dim=48), projection_dim=48)
    read = clip_texts(batch, TOKENS if small else 128)
    yield Folder("CLIPModel", both, lambda rng: read(rng) | seen(rng), {k: k for k in ("logits_per_image", "text_embeds", "image_embeds")}, "")
    yield Folder("CLIPTextModel", t.CLIPTextConfig(**text), read, POOLED, "added")
    yield Folder("CLIPTextModelWithProjection", t.CLIPTextConfig(**text, projection_dim=48), read, {"text_embeds": "text_embeds"}, "added")
    yield Folder("CLIPVisionModel", t.CLIPVisionConfig(**tall), seen, POOLED, "added")
    yield Folder("CLIPVisionModelWithProjection", t.CLIPVisionConfig(**tall, projection_dim=48), seen, {"image_embeds": "image_embeds"}, "added")
    labelled = t.CLIPConfig(text_config=dict(text), vision_config=dict(tall), **LABELS)
    yield Folder("CLIPForImageClassification", labelled, seen, LOGITS, "classes")


def encoder_states(model, tensors):
    return model.get_encoder()(tensors["input_features"]).last_hidden_state


def audio_folders(sizes, frames, samples, batch):
    mels = 16 if frames < 500 else 80
    keys = dict(d_model=sizes["hidden_size"], encoder_layers=sizes["num_hidden_layers"], encoder_attention_heads=sizes["num_attention_heads"],
                encoder_ffn_dim=sizes["intermediate_size"], num_mel_bins=mels, max_source_positions=frames // 2, vocab_size=50, decoder_layers=1,
                decoder_attention_heads=2, decoder_ffn_dim=8, max_target_positions=6, pad_token_id=0, bos_token_id=1, eos_token_id=2,
                decoder_start_token_id=1, suppress_tokens=[], begin_suppress_tokens=[3])
    heard = lambda rng: {"input_features": rng.normal(0, 1, (batch, mels, frames)).astype(np.float32)}
    yield Folder("WhisperModel", t.WhisperConfig(**keys), heard, {"last_hidden_state": encoder_states}, "added")
    yield Folder("WhisperForConditionalGeneration", t.WhisperConfig(**keys), heard, {"last_hidden_state": encoder_states}, "added")
    yield Folder("WhisperForAudioClassification", t.WhisperConfig(**keys, classifier_proj_size=24, **LABELS), heard, LOGITS, "classes")
    wave = lambda rng: {"input_values": rng.normal(0, 1, (batch, samples)).astype(np.float32)}
    small = samples < 8000
    own = {k: v for k, v in sizes.items() if k != "vocab_size"} | (
        dict(conv_dim=[32, 32], conv_kernel=[10, 3], conv_stride=[5, 2], num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=4) if small else {})
    yield Folder("Wav2Vec2Model", t.Wav2Vec2Config(**own), wave, STATES, "added")
    yield Folder("Wav2Vec2ForCTC", t.Wav2Vec2Config(**own, vocab_size=20), wave, LOGITS, "")
    yield Folder("Wav2Vec2ForSequenceClassification", t.Wav2Vec2Config(**own, classifier_proj_size=24, **LABELS), wave, LOGITS, "classes")
    yield Folder("Wav2Vec2ForAudioFrameClassification", t.Wav2Vec2Config(**own, **LABELS), wave, LOGITS, "frames")


def small_folders():
    yield from text_folders(SMALL, texts)
    yield from vision_folders(SMALL, 64, 16, BATCH)
    yield from audio_folders(SMALL, 40, 1200, BATCH)


def encoders():
    """One folder a family, at MiniLM's size."""
    seen = set()
    alone = lambda vocabulary, pad: texts(vocabulary, 1, 128, pad, padded=False)
    for folder in (*text_folders(MINILM, alone), *vision_folders(MINILM, 224, 16, 1), *audio_folders(MINILM, 3000, 16000, 1)):
        key = folder.config.model_type, getattr(folder.config, "feed_forward_proj", "")
        if key not in seen:
            seen.add(key)
            yield folder


def place(folder, use):
    return WORK / use / re.sub(r"\W+", "_", folder.name)


# --- checks ------------------------------------------------------------------------------------------------------------

class Failure(Exception):
    """What went wrong, in a line."""


def hone(args, *command):
    done = subprocess.run([args.hone, *map(str, command)], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        said = [line for line in done.stderr.strip().splitlines() if line.startswith("hone: ")] or done.stderr.strip().splitlines() or [""]
        raise Failure(f"{said[-1].removeprefix('hone: ')[:300]} (exit code {done.returncode})")
    return done.stdout + done.stderr


def relative(value, expected):
    if value.shape != expected.shape:
        raise Failure(f"shape {list(value.shape)}, expected {list(expected.shape)}")
    return float(np.abs(np.asarray(value, np.float64) - expected).max() / max(np.abs(expected).max(), 1e-30))


class Checks:
    def __init__(self, args, folder, at):
        self.args, self.folder, self.at = args, folder, at
        shutil.rmtree(at, ignore_errors=True)
        (at / "model").mkdir(parents=True)
        torch.manual_seed(1)
        self.model = folder.model()
        self.model.save_pretrained(at / "model")
        self.inputs = folder.inputs(np.random.default_rng(seed_of(folder.name)))
        self.given = []
        for name, value in self.inputs.items():
            np.save(self.at / f"{name}.npy", value)
            self.given.append(f"{name}={self.at / f'{name}.npy'}")

    def reference(self):
        with torch.no_grad():
            rounded = {k: v.double().numpy() for k, v in self.folder.compute(self.model, self.inputs).items()}
            exact = {k: v.numpy() for k, v in self.folder.compute(self.model.double(), self.inputs, torch.float64).items()}
        self.model.float()
        self.bounds = {k: max(AGREES, 4 * relative(rounded[k], v)) for k, v in exact.items()}
        return exact

    def run(self, file):
        out = self.at / "out"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        hone(self.args, "run", file, "--output-dir", out, "--input", *self.given)
        return {name: np.load(out / f"{name}.npy") for name in self.folder.outputs}

    def compare(self, found, expected):
        worst = 0.0
        for name, value in expected.items():
            difference = relative(found[name], value)
            if not difference <= self.bounds[name]:
                raise Failure(f"{name} differs by {difference:.1e} of its largest, {self.bounds[name]:.1e} accepted")
            worst = max(worst, difference)
        return worst

    def labels(self, rng):
        kind = self.folder.labels
        rows = len(next(iter(self.inputs.values())))
        if kind in ("classes", "added"):
            return rng.integers(0, CLASSES, rows), CLASSES
        if kind == "classes2":
            return rng.integers(0, 2, rows), 2
        if kind == "frames":
            with torch.no_grad():
                frames = self.folder.compute(self.model, self.inputs)["logits"].shape[1]
            return rng.integers(0, CLASSES, (rows, frames)), CLASSES
        classes = CLASSES if kind == "places" else self.folder.config.vocab_size
        places = rng.integers(0, classes, self.inputs["input_ids"].shape)
        places[self.inputs["attention_mask"] == 0] = -100
        if kind == "words":
            places[rng.uniform(size=places.shape) > 0.4] = -100
        return places, classes

    def torch_step(self, labels, dtype, seed=None):
        """PyTorch's loss, and what save_pretrained writes after a step. Batch norms take the batch's statistics; nothing is dropped.
        `seed`: weights begin at neighbouring floats, up or down at random."""
        model, random = copy.deepcopy(self.model), torch.Generator().manual_seed(seed or 0)
        for module in model.modules():
            module.training = isinstance(module, torch.nn.BatchNorm2d)
            if module.training:
                module.momentum = MOMENTUM
        if seed:
            with torch.no_grad():
                for weight in model.parameters():
                    up = torch.rand(weight.shape, generator=random) < 0.5
                    weight.copy_(torch.nextafter(weight, torch.where(up, torch.inf, -torch.inf)))
        logits = self.folder.compute(model.to(dtype), self.inputs, dtype)["logits"]
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, -2), torch.from_numpy(labels).flatten(), ignore_index=-100)
        loss.backward()
        torch.optim.SGD(model.parameters(), lr=RATE).step()
        model.save_pretrained(self.at / "stepped")
        return loss.item(), load_file(self.at / "stepped/model.safetensors")

    def train(self):
        if not self.folder.labels:
            raise Failure(NO_LOSS)
        labels, classes = self.labels(np.random.default_rng(7))
        np.savez(self.at / "data.npz", **self.inputs, label=labels)
        names = list(self.inputs)
        head = "auto" if self.folder.labels == "added" else "keep"
        hone(self.args, "train", self.at / "model", "--data", self.at / "data.npz", "--label", "label", "-o", self.at / "trained.safetensors", "--folder",
             self.at / "run", "--batch", len(labels), "--steps", 1, "--in-order", "--schedule", "constant", "--warmup", 0, "--head", head, "--log-every", 1,
             "--rate", RATE, "--optimizer", "sgd", "--decay", 0, "--threads", 1, "--inputs", *names, *[f"--classes={i}" for i in range(classes)])
        if head == "auto":
            return "added"
        losses = [entry["loss"] for entry in map(json.loads, (self.at / "run/log.jsonl").read_text().splitlines()) if entry["split"] == "train"]
        loss, after = self.torch_step(labels, torch.float64)
        neighbours = [self.torch_step(labels, torch.float32, seed)[1] for seed in range(1, NEIGHBOURS + 1)]
        if not abs(losses[0] - loss) <= 1e-4 * abs(loss):
            raise Failure(f"the loss is {losses[0]:.6f}, PyTorch's {loss:.6f}")
        return self.compare_weights(load_file(self.at / "model/model.safetensors"), after, neighbours)

    def compare_weights(self, before, after, neighbours):
        """`after`: in f64. Its distance from `neighbours`, in f32, says what one rounding makes of this very step."""
        found = {k.removeprefix("parameter/"): v for k, v in load_file(self.at / "run/last.safetensors").items() if k.startswith("parameter/")}
        found |= {f"{self.model.base_model_prefix}.{k}": v for k, v in found.items()}  # hone's names lack what heads put before the encoder's
        worst, missing = 0.0, []
        for name, value in after.items():
            change = np.abs(value - before[name]).max()
            if name.endswith("num_batches_tracked"):
                continue
            if name not in found:
                if change > 0:
                    missing.append(name)
                continue
            limit = max(STEP_AGREES * change, 4 * max(np.abs(each[name] - value).max() for each in neighbours)) + 4 * 2.0**-24 * np.abs(value).max()
            own = found[name].reshape(value.shape) if found[name].size == value.size else np.full_like(value, np.nan)
            error = np.abs(own - value).max()
            if not error <= limit and not (value.ndim == 2 and np.abs(found[name].T.reshape(value.shape) - value).max() <= limit):
                raise Failure(f"{name} is off by {error:.1e} after a step that changes it by {change:.1e}")
            worst = max(worst, float(error / limit))
        if missing:
            raise Failure(f"PyTorch trains {len(missing)} tensors that hone does not, e.g. {', '.join(missing[:3])}")
        return worst

    def quantize(self):
        files = [self.at / f"q.{ending}" for ending in ("safetensors", "onnx")]
        for file in files:
            hone(self.args, "quantize", self.at / "model", "--to", FORMAT, "--inputs", *self.inputs, "-o", file)
        first, second = map(self.run, files)
        self.compare(second, {k: v.astype(np.float64) for k, v in first.items()})
        hone(self.args, "export", self.at / "model", "--inputs", *self.inputs, "-o", self.at / "again.onnx")
        self.compare(self.run(self.at / "again.onnx"), self.exact)
        return max(relative(first[k], v) for k, v in self.exact.items())

    def all(self):
        result = {"failures": {}}
        self.exact = self.reference()
        for name, work in {"agrees": lambda: self.compare(self.run(self.at / "model"), self.exact), "trains": self.train, "quantizes": self.quantize}.items():
            try:
                result[name] = work()
            except (Failure, subprocess.TimeoutExpired) as failure:
                result["failures"][name] = str(failure)
        self.at.with_suffix(".json").write_text(json.dumps(result))
        if not result["failures"]:
            shutil.rmtree(self.at)
        return result


# --- speed -------------------------------------------------------------------------------------------------------------

class Whole(torch.nn.Module):
    """Tensors in, the folder's outputs out."""

    def __init__(self, folder, model):
        super().__init__()
        self.folder, self.inner, self.names = folder, model, list(folder.inputs(np.random.default_rng(1)))

    def forward(self, *tensors):
        given = dict(zip(self.names, tensors))
        if any(callable(what) for what in self.folder.outputs.values()):
            return tuple(what(self.inner, given) for what in self.folder.outputs.values())
        out = self.inner(**given)
        return tuple(out[what] for what in self.folder.outputs.values())


def exported(folder, model, inputs, path):
    """By the dynamo exporter, else by the older one; sizes as they are: peers may use that."""
    tensors = tuple(torch.from_numpy(value) for value in inputs.values())
    names = dict(input_names=list(inputs), output_names=list(folder.outputs))
    try:
        torch.onnx.export(Whole(folder, model).eval(), tensors, str(path), dynamo=True, opset_version=18, external_data=False, verbose=False, **names)
        return "dynamo"
    except Exception:  # whatever the exporter can't do
        torch.onnx.export(Whole(folder, model).eval(), tensors, str(path), dynamo=False, opset_version=17, **names)
        return "legacy"


def peers(path, inputs):
    import onnxruntime as ort
    import openvino as ov
    ort.set_default_logger_severity(4)
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    found, why = {}, {}
    try:
        session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        feed = {each.name: inputs[each.name] for each in session.get_inputs()}
        found["ONNX Runtime"] = (lambda: session.run(None, feed)), None
    except Exception as error:
        why["ONNX Runtime"] = str(error).splitlines()[0][:120]
    try:
        compiled = ov.Core().compile_model(str(path), "CPU", {"INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"})
        request = compiled.create_infer_request()
        given = {each.any_name: inputs[each.any_name] for each in compiled.inputs}
        found["OpenVINO"] = (lambda: list(request.infer(given).values())), None
    except Exception as error:
        why["OpenVINO"] = str(error).splitlines()[0][:120]
    return {name: run for name, (run, _) in found.items()}, why


def made(args, folder):
    """The folder at MiniLM's size and its export, made once; what runs on them, and by which exporter."""
    at, inputs = place(folder, "speed"), folder.inputs(np.random.default_rng(seed_of(folder.name)))
    said = at / "exporter"
    if not said.exists():
        model = Checks(args, folder, at).model
        with torch.no_grad():
            said.write_text(exported(folder, model, inputs, at / "model.onnx"))
    return at, inputs, said.read_text()


def speed(args, folder):
    at, inputs, exporter = made(args, folder)
    others, why = peers(at / "model.onnx", inputs)
    own = Hone(args.hone, at / "model", inputs, at / "own", 1, ("--no-cache", "--inputs", *inputs))
    systems = {"hone": own} | {name: timed(run) for name, run in others.items()}
    own()
    expected = {name: value for name, value in zip(folder.outputs, next(iter(others.values()))())}
    worst = max(relative(own.output(name), np.asarray(value, np.float64)) for name, value in expected.items())
    times = rounds(systems, args.rounds)
    own.close()
    best = min(others, key=lambda name: interval(times[name])[0])
    result = {"ms": {name: interval(found)[0] * 1e3 for name, found in times.items()}, "best": best, "ratio": ratio(times, "hone", best), "exporter": exporter,
              "difference": worst, "why": why}
    (at / TIMED).write_text(json.dumps(result))
    return result


# --- tables ------------------------------------------------------------------------------------------------------------

def kept(folders, file_of):
    """What calls have found so far, by the folders' names: one call need not do all."""
    files = {folder.name: file_of(folder) for folder in folders}
    return {name: json.loads(file.read_text()) for name, file in files.items() if file.exists()}


def checked_section():
    found = kept(small_folders(), lambda folder: place(folder, "checks").with_suffix(".json"))
    good = sum(not result["failures"] for result in found.values())
    architectures, types = {name.split()[1] for name in found}, {name.split()[0] for name in found}
    rows = []
    for name, result in found.items():
        cell = lambda key: (f"{result[key]:.0e}" if isinstance(result[key], float) else "yes, a layer added") if key in result else "**no**"
        why = "; ".join(f"{key}: {value}" for key, value in result["failures"].items())
        rows.append([*name.split(maxsplit=1), cell("agrees"), cell("trains"), cell("quantizes"), why])
    lossless = sum(result["failures"] == {"trains": NO_LOSS} for result in found.values())
    head = (f"{good} of {len(found)} folders pass every check, {lossless} all but training, as hone has no loss for their head ({len(architectures)} "
            f"architectures, {len(types)} model types). Agrees: the largest difference "
            "of `hone run` from transformers in f64, of the largest magnitude of an output. Trains: the largest error of a weight after one step beside "
            f"PyTorch's, of what is accepted. Quantizes: what {FORMAT} changes; the .safetensors and the "
            ".onnx file agree, reopened, and so does an exported folder.\n\n")
    return head + results.table(["model type", "architecture", "agrees", "trains", "quantizes", "what does not, and why"], rows)


def speed_section():
    rows, found = [], kept(encoders(), lambda folder: place(folder, "speed") / TIMED)
    for name, r in found.items():
        ms = lambda system: f"{r['ms'][system]:.2f}" if system in r["ms"] else "refused"
        median, low, high = r["ratio"]
        rows.append([*name.split(maxsplit=1), ms("hone"), ms("ONNX Runtime"), ms("OpenVINO"), f"{median:.2f} ({low:.2f}-{high:.2f})",
                     "reached" if high <= TARGET else "missed" if low > TARGET else "open"])
    head = ("Milliseconds of one text of 128 tokens, one image of 224x224, 30 s of mel frames or one second of sound, f32, one thread, interleaved. The "
            f"ratio to the better of the two, with its 95 % interval; {TARGET} is wanted.\n\n")
    return head + results.table(["model type", "architecture", "hone", "ONNX Runtime", "OpenVINO", "ratio", f"at most {TARGET}"], rows)


def machine():
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "unknown CPU")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ["torch", "transformers", "onnxruntime", "openvino"])
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()
    return f"{datetime.date.today()}, hone {commit}; {model}, {os.cpu_count()} CPUs; {versions}. Random weights. `make bench-families`.\n\n"


def each(args, folders, work, show):
    found = {}
    for folder in folders:
        name = folder.name
        if args.only and not any(text in name for text in args.only):
            continue
        try:
            found[name] = work(folder)
        except (Exception, SystemExit) as error:  # a row tells what stopped it, and the next is tried
            print(f"{name}: {type(error).__name__}: {str(error)[:300]}", flush=True)
            continue
        print(f"{name}: {show(found[name])}", flush=True)
    return found


def show_checks(result):
    return json.dumps({k: v for k, v in result.items() if k != "failures"}) + "".join(f"\n    {k}: {v}" for k, v in result["failures"].items())


def show_speed(r):
    times = ", ".join(f"{name} {ms:.2f} ms" for name, ms in r["ms"].items())
    median, low, high = r["ratio"]
    return f"{times}; {median:.2f} ({low:.2f}-{high:.2f}); differs by {r['difference']:.0e}; {r['exporter']} {r['why'] or ''}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hone")
    parser.add_argument("--only", action="append", default=[], help="folders in whose model type and architecture this is found")
    parser.add_argument("--checks", action="store_true")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--make", action="store_true", help="only make the folders and exports of --speed, which are kept")
    parser.add_argument("--dry", action="store_true", help="print, but leave bench/results.md as it is")
    args = parser.parse_args()
    args.hone = str(pathlib.Path(args.hone).absolute())
    torch.set_num_threads(1)
    t.logging.set_verbosity_error()
    t.logging.disable_progress_bar()
    if args.make:
        each(args, encoders(), lambda folder: made(args, folder), lambda found: found[2])
        return 0
    both, failed = args.checks == args.speed, 0
    if args.checks or both:
        found = each(args, small_folders(), lambda folder: Checks(args, folder, place(folder, "checks")).all(), show_checks)
        failed = sum(result["failures"] not in ({}, {"trains": NO_LOSS}) for result in found.values())
        if not args.dry:
            results.write_section("Folders of every family", machine() + checked_section())
    if args.speed or both:
        each(args, encoders(), lambda folder: speed(args, folder), show_speed)
        if not args.dry:
            results.write_section("Families at MiniLM's size beside other systems", machine() + speed_section())
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
