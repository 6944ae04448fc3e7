"""Adapters exchanged with Hugging Face's PEFT, both ways: folders that PEFT wrote are imported by hone, whose outputs are compared with
PEFT's; adapters that hone trained are exported and loaded by PEFT. What comes back must have the same bits.

usage: lora_peft.py HONE [--model build/models/all-MiniLM-L6-v2]

Exits with 1 when something does not open, differs by more than its bound, or comes back with other bits.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
import numpy as np
import peft
import torch
import transformers
from safetensors.torch import load_file

WORK = pathlib.Path("build/exports/lora")
# Sums in another order, over 12 layers; of the largest magnitude.
BOUND = 1e-5
CASES = {
    "linear": dict(target_modules=["query", "value"], r=6, lora_alpha=16),
    "all": dict(target_modules=["query", "key", "value", "dense", "word_embeddings"], r=4, lora_alpha=4),
    "rslora": dict(target_modules=["query", "value"], r=6, lora_alpha=3, use_rslora=True),
    "dora": dict(target_modules=["query", "intermediate.dense"], r=5, lora_alpha=8, use_dora=True),
    "patterns": dict(target_modules=["query", "value"], r=6, lora_alpha=12, rank_pattern={"value": 3}, alpha_pattern={"layer.0.attention.self.query": 5}),
}


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command[1:]))}: {done.stderr.strip()[:400]}")


def encoder_folder(model):
    """The model without its sentence pooling: then hone's outputs are those of transformers."""
    folder = WORK / "encoder"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(model, folder, ignore=shutil.ignore_patterns("modules.json", "1_Pooling", "*.bin", "*.onnx", "*.h5", "*.ot"))
    return folder


def inputs():
    rng = np.random.default_rng(1)
    mask = np.ones((2, 16), np.int64)
    mask[1, 11:] = 0
    return {"input_ids": rng.integers(1000, 20000, (2, 16)), "attention_mask": mask}


def hone_output(hone, file, name):
    out = WORK / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    given = []
    for key, value in inputs().items():
        np.save(WORK / f"{key}.npy", value)
        given.append(f"{key}={WORK / key}.npy")
    run(hone, "run", file, "--output-dir", out, "--input", *given)
    return np.load(out / f"{name}.npy")


def torch_output(model):
    with torch.no_grad():
        return model(**{k: torch.from_numpy(v) for k, v in inputs().items()}).last_hidden_state.numpy()


def difference(got, expected):
    kept = inputs()["attention_mask"].astype(bool)
    return float(np.abs(got - expected)[kept].max() / np.abs(expected[kept]).max())


def encoder(folder):
    return transformers.AutoModel.from_pretrained(folder, add_pooling_layer=False).eval()


def same_tensors(a, b):
    a, b = load_file(a / "adapter_model.safetensors"), load_file(b / "adapter_model.safetensors")
    return a.keys() == b.keys() and all(torch.equal(a[k], b[k]) for k in a)


def from_peft(hone, folder, name, settings):
    """PEFT writes, hone imports and runs, exports, and PEFT has the same adapters again."""
    torch.manual_seed(1)
    adapted = peft.get_peft_model(encoder(folder), peft.LoraConfig(init_lora_weights=False, **settings)).eval()
    with torch.no_grad():
        for key, value in adapted.named_parameters():
            if "lora_" in key and "magnitude" not in key:
                value.mul_(0.3)
            elif "magnitude" in key:
                value.mul_(1.1)
    written, file, back = WORK / name, WORK / f"{name}.safetensors", WORK / f"{name}_back"
    adapted.save_pretrained(written)
    run(hone, "lora", "import", folder, "--adapter", written, "-o", file)
    plain, expected = torch_output(encoder(folder)), torch_output(adapted)
    result = {"case": f"PEFT to hone: {name}", "moved": difference(plain, expected),
              "difference": difference(hone_output(hone, file, "last_hidden_state"), expected)}
    run(hone, "lora", "fuse", file, "-o", WORK / "fused.safetensors")
    result["fused"] = difference(hone_output(hone, WORK / "fused.safetensors", "last_hidden_state"), expected)
    run(hone, "lora", "export", file, "-o", back)
    result["same bits"] = same_tensors(written, back)
    loaded = peft.PeftModel.from_pretrained(encoder(folder), back).eval()
    result["loaded again"] = difference(torch_output(loaded), expected)
    return result


def from_hone(hone, folder, name, flags):
    """hone trains, PEFT loads the export into transformers' model and computes what hone computes."""
    texts = WORK / "texts.csv"
    words = ["good", "bad"]
    texts.write_text("text,label\n" + "".join(f"a {words[i % 2]} film number {i},{words[i % 2]}\n" for i in range(64)))
    file, written = WORK / f"{name}.safetensors", WORK / f"{name}_out"
    run(hone, "train", folder, "--data", texts, "--epochs", 1, "--rate", "1e-3", "--batch", 16, *flags, "-o", file)
    run(hone, "lora", "export", file, "-o", written)
    config = json.loads((written / "adapter_config.json").read_text())
    saved = load_file(written / "adapter_model.safetensors")

    class Classifier(torch.nn.Module):
        """What hone put behind the encoder: the mean over words, and a layer."""

        def __init__(self):
            super().__init__()
            inner = encoder(folder)
            self.encoder, self.embeddings, self.config = inner.encoder, inner.embeddings, inner.config
            self.__dict__["inner"] = inner
            self.classifier = torch.nn.Linear(384, 2)

        def forward(self, input_ids, attention_mask):
            words = self.inner(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
            mask = attention_mask.float().unsqueeze(-1)
            return self.classifier((words * mask).sum(1) / mask.sum(1))

    loaded = peft.PeftModel.from_pretrained(Classifier(), written).eval()
    with torch.no_grad():
        expected = loaded(**{k: torch.from_numpy(v) for k, v in inputs().items()}).numpy()
    got = hone_output(hone, file, "logits")
    return {"case": f"hone to PEFT: {name}", "rank": config["r"], "alpha": config["lora_alpha"], "saved": config["modules_to_save"],
            "difference": float(np.abs(got - expected).max() / np.abs(expected).max()), "tensors": len(saved)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hone")
    parser.add_argument("--model", default="build/models/all-MiniLM-L6-v2")
    args = parser.parse_args()
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    transformers.logging.set_verbosity_error()
    folder = encoder_folder(args.model)
    failed = False
    results = [from_peft(args.hone, folder, name, settings) for name, settings in CASES.items()]
    results.append(from_hone(args.hone, folder, "trained", ["--lora", "query|value|word_embeddings", "--lora-rank", 6, "--lora-alpha", 12]))
    results.append(from_hone(args.hone, folder, "trained_dora", ["--lora", "query|value", "--lora-rank", 4, "--dora"]))
    for result in results:
        bad = any(result.get(key, 0) > BOUND for key in ("difference", "fused", "loaded again")) or not result.get("same bits", True)
        failed |= bad or result.get("moved", 1) < 100 * BOUND
        print(json.dumps(result | {"verdict": "wrong" if bad else "right"}))
    sys.exit(failed)


if __name__ == "__main__":
    main()
