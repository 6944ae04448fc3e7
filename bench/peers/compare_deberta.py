"""DeBERTa in hone beside Hugging Face's own code: largest difference of the outputs, on random weights.

Small models of every kind (first version, v2 with and without buckets, shared keys, a convolution, absolute positions, token
types) and the configurations of v3-small and base; each at several lengths, short ones and longer than the distances that have
a row of their own, the last sentence of the batch padded.

usage: compare_deberta.py HONE [--only NAME]
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import torch
import transformers

parser = argparse.ArgumentParser()
parser.add_argument("hone")
parser.add_argument("--only", default="")
args = parser.parse_args()

SMALL = dict(vocab_size=101, hidden_size=48, num_hidden_layers=3, num_attention_heads=4, intermediate_size=80, max_position_embeddings=64,
             type_vocab_size=0, relative_attention=True, position_biased_input=False, layer_norm_eps=1e-7, initializer_range=0.2)
BOTH = ["c2p", "p2c"]
V3 = dict(SMALL, position_buckets=16, norm_rel_ebd="layer_norm", share_att_key=True, pos_att_type=BOTH)
V3_SMALL = dict(vocab_size=1000, hidden_size=768, num_hidden_layers=6, num_attention_heads=12, intermediate_size=3072, max_position_embeddings=512,
                type_vocab_size=0, relative_attention=True, position_buckets=256, norm_rel_ebd="layer_norm", share_att_key=True,
                pos_att_type=BOTH, position_biased_input=False, layer_norm_eps=1e-7, initializer_range=0.05)
V1_BASE = dict(vocab_size=1000, hidden_size=768, num_hidden_layers=12, num_attention_heads=12, intermediate_size=3072,
               max_position_embeddings=512, type_vocab_size=0, relative_attention=True, pos_att_type=BOTH, position_biased_input=False,
               layer_norm_eps=1e-7, initializer_range=0.05)
SHORT = [1, 2, 9, 24, 50, 80]

first, second = (transformers.DebertaConfig, transformers.DebertaModel, transformers.DebertaForSequenceClassification), \
    (transformers.DebertaV2Config, transformers.DebertaV2Model, transformers.DebertaV2ForSequenceClassification)
CASES = {  # family, configuration, classifier, lengths
    "v1": (first, dict(SMALL, pos_att_type=BOTH), False, SHORT),
    "v1 c2p": (first, dict(SMALL, pos_att_type=["c2p"]), True, SHORT),
    "v1 p2c, positions and types": (first, dict(SMALL, pos_att_type=["p2c"], position_biased_input=True, type_vocab_size=2), True, SHORT[:-1]),
    "v2, no buckets, own keys": (second, dict(SMALL, pos_att_type=BOTH), False, SHORT),
    "v2, narrow embeddings": (second, dict(SMALL, pos_att_type=["p2c"], embedding_size=24), False, SHORT),
    "v2, no distances": (second, dict(SMALL, relative_attention=False, position_biased_input=True), False, SHORT[:-1]),
    "v3": (second, V3, True, SHORT),
    "v2, convolution": (second, dict(V3, conv_kernel_size=3, conv_act="gelu", conv_groups=2), True, SHORT),
    "v3-small": (second, V3_SMALL, True, [9, 128, 300, 512]),
    "v1 base": (first, V1_BASE, True, [9, 128]),
}


def randomise(model):
    """Biases and norms too, which start as constants."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.dim() == 1:
                p.add_(torch.randn_like(p) * 0.1)


def compare(name, family, config, classifies, lengths, folder):
    torch.manual_seed(1)
    kind = family[2 if classifies else 1]
    model = kind(family[0](**config)).eval()
    randomise(model)
    model.save_pretrained(folder)
    worst = 0
    for length in lengths:
        ids = np.random.default_rng(length).integers(1, config["vocab_size"], (2, length)).astype(np.int64)
        mask = np.ones_like(ids)
        mask[1, (length + 1) // 2 + 1:] = 0
        with torch.no_grad():
            wanted = model(input_ids=torch.from_numpy(ids), attention_mask=torch.from_numpy(mask))
        wanted = (wanted.logits if classifies else wanted.last_hidden_state).numpy()
        np.save(f"{folder}/ids.npy", ids)
        np.save(f"{folder}/mask.npy", mask)
        subprocess.run([args.hone, "run", folder, "--input", f"input_ids={folder}/ids.npy", "--input", f"attention_mask={folder}/mask.npy",
                        "--output-dir", f"{folder}/out", "--compute", "f32"], check=True, stdout=subprocess.DEVNULL)
        found = np.load(next(pathlib.Path(f"{folder}/out").glob("*.npy")))
        worst = max(worst, float(np.abs(found - wanted).max() / np.abs(wanted).max()))
    print(f"{name:32} lengths {','.join(map(str, lengths)):22} largest difference / largest value {worst:.1e}", flush=True)
    return worst


bad = []
for name, case in CASES.items():
    if args.only in name:
        with tempfile.TemporaryDirectory() as folder:
            if compare(name, *case, folder) > 2e-5:
                bad.append(name)
sys.exit(f"differ: {', '.join(bad)}" if bad else 0)
