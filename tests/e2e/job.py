"""One job of its own process: compiles a small model with the stoker backend and prints one JSON line.

usage: job.py MODEL [SEED] [WIDTH]   MODEL: gpt2, bert, resnet, mlp
"""

import json
import sys
import warnings

import torch

import stoker


def build(name, seed, width):
    torch.manual_seed(seed)
    if name == "mlp":
        model = torch.nn.Sequential(
            torch.nn.Linear(32, width), torch.nn.GELU(), torch.nn.LayerNorm(width),
            torch.nn.Linear(width, 8), torch.nn.Softmax(-1))
        return model.eval(), torch.randn(5, 32)
    if name == "gpt2":
        from transformers import GPT2Config, GPT2LMHeadModel

        config = GPT2Config(n_layer=2, n_head=4, n_embd=width, vocab_size=1000, use_cache=False)
        model = GPT2LMHeadModel(config).eval()
        return model, torch.randint(0, 1000, (2, 17))
    if name == "bert":
        from transformers import BertConfig, BertModel

        config = BertConfig(
            num_hidden_layers=2, num_attention_heads=4, hidden_size=width,
            intermediate_size=2 * width, vocab_size=1000)
        return BertModel(config).eval(), torch.randint(0, 1000, (2, 17))
    import torchvision

    return torchvision.models.resnet18(num_classes=16).eval(), torch.randn(1, 3, 64, 64)


def output_of(result):
    for name in ("logits", "last_hidden_state"):
        if hasattr(result, name):
            return getattr(result, name)
    return result


def main():
    name = sys.argv[1]
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    width = int(sys.argv[3]) if len(sys.argv) > 3 else 64
    model, example = build(name, seed, width)
    with torch.no_grad(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compiled = torch.compile(lambda x: output_of(model(x)), backend="stoker")
        actual = compiled(example)
        again = compiled(example)
        reference = output_of(model.double()(
            example.double() if example.is_floating_point() else example))
    error = torch.linalg.norm(actual.double() - reference) / torch.linalg.norm(reference)
    print(json.dumps({
        "error": error.item(),
        "repeats": bool(torch.equal(actual, again)),
        "warnings": [str(w.message) for w in caught if "stoker" in str(w.message).lower()],
        "last": stoker.last_compile(),
    }, default=str))


if __name__ == "__main__":
    main()
