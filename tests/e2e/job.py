"""One job of its own process: compiles small models with the stoker backend and prints one JSON line.

The line is one result, or a dictionary of them by model if there are several.
"""

import argparse
import copy
import json
import logging
import sys
import time

import torch

import stoker


def build(name, seed, width, batch, layers=2):
    """(model, its input) in float32."""
    torch.manual_seed(seed)
    tokens = torch.randint(0, 1000, (batch, 17))
    if name == "mlp":
        model = torch.nn.Sequential(
            torch.nn.Linear(32, width), torch.nn.GELU(), torch.nn.LayerNorm(width),
            torch.nn.Linear(width, 8), torch.nn.Softmax(-1))
        return model, torch.randn(batch + 3, 32)
    if name == "gpt2":
        from transformers import GPT2Config, GPT2LMHeadModel

        return GPT2LMHeadModel(GPT2Config(
            n_layer=layers, n_head=4, n_embd=width, vocab_size=1000, use_cache=False)), tokens
    if name == "bert":
        from transformers import BertConfig, BertModel

        return BertModel(BertConfig(
            num_hidden_layers=2, num_attention_heads=4, hidden_size=width,
            intermediate_size=2 * width, vocab_size=1000)), tokens
    if name == "llama":
        from transformers import LlamaConfig, LlamaForCausalLM

        return LlamaForCausalLM(LlamaConfig(
            num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, hidden_size=width,
            intermediate_size=2 * width, vocab_size=1000, use_cache=False)), tokens
    if name == "t5":
        from transformers import T5Config, T5EncoderModel

        return T5EncoderModel(T5Config(
            num_layers=2, num_heads=4, d_model=width, d_kv=width // 4, d_ff=2 * width,
            vocab_size=1000)), tokens
    from torchvision import models

    if name == "vit":
        model = models.VisionTransformer(
            image_size=32, patch_size=8, num_layers=2, num_heads=4, hidden_dim=width,
            mlp_dim=2 * width, num_classes=16)
        torch.nn.init.normal_(model.heads.head.weight, std=0.02)
        return model, torch.randn(batch, 3, 32, 32)
    return models.resnet18(num_classes=16), torch.randn(batch, 3, 64, 64)


def output_of(result):
    for name in ("logits", "last_hidden_state"):
        if hasattr(result, name):
            return getattr(result, name)
    return result


def relative_error(actual, reference):
    reference = reference.double()
    return (torch.linalg.norm(actual.double() - reference) / torch.linalg.norm(reference)).item()


def widened(x):
    return x.double() if x.is_floating_point() else x


class Warnings(logging.Handler):
    def __init__(self):
        super().__init__(logging.WARNING)
        self.messages = []
        logging.getLogger("stoker").addHandler(self)

    def emit(self, record):
        self.messages.append(record.getMessage())


def run(model, example, warnings):
    """Two calls of the compiled model beside eager PyTorch in its dtype and in float64."""
    torch._dynamo.reset()  # No model makes sizes of the next one vary.
    already = len(stoker.compiles()) + stoker.counters().get("graphs_eager", 0)
    seen = len(warnings.messages)
    compiled = torch.compile(lambda x: output_of(model(x)), backend="stoker")
    with torch.no_grad():
        start = time.monotonic()
        actual = compiled(example)
        first_call_s = time.monotonic() - start
        again = compiled(example)
        eager = output_of(model(example))
        reference = output_of(model.double()(widened(example)))
    return {
        "error": relative_error(actual, reference),
        "eager_error": relative_error(eager, reference),
        "repeats": torch.equal(actual, again),
        "warnings": warnings.messages[seen:],
        "graphs": len(stoker.compiles()) + stoker.counters().get("graphs_eager", 0) - already,
        "last": stoker.last_compile(),
        "first_call_s": first_call_s,
    }


def change_weights(model, example):
    """Which ways to change weights show in the next calls, in those of another batch size too."""
    compiled = torch.compile(model, backend="stoker")
    weight = model[0].weight
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)

    def step():
        for parameter in model.parameters():
            parameter.grad = torch.randn_like(parameter)
        optimizer.step()

    ways = {
        "in place": lambda: weight.mul_(2),
        "through data": lambda: weight.data.add_(0.5),
        "copied to data": lambda: weight.data.copy_(torch.randn_like(weight)),
        "new tensor": lambda: setattr(weight, "data", torch.randn_like(weight)),
        "optimizer": step,
        "state dict": lambda: model.load_state_dict(
            {name: torch.randn_like(value) for name, value in model.state_dict().items()})}
    shown = {}
    with torch.no_grad():
        compiled(example)
        for name, change in ways.items():
            change()
            # The smaller batch first: its executable meets the new weights before the first one does.
            shown[name] = all(
                relative_error(compiled(x), model(x)) < 1e-5 for x in (example[:-1], example))
    return {"changes": shown}


def outlive(model, example, warnings):
    """A call before and after whatever happens until somebody writes a line, and a new graph after it."""
    compiled = torch.compile(model, backend="stoker")
    with torch.no_grad():
        before = compiled(example)
        print("paused", flush=True)
        sys.stdin.readline()
        after = compiled(example)
        other = torch.compile(lambda x: model(x) + 1, backend="stoker")
        results = [other(example), other(example)]
        error = max(relative_error(result, model(example) + 1) for result in results)
    return {
        "same": torch.equal(before, after), "error": error, "warnings": warnings.messages,
        "counters": stoker.counters()}


def loss_of(function, example):
    """A language model's loss of the next token; of images and vectors, of classes that are made up."""
    output = output_of(function(example))
    if not example.is_floating_point():
        return torch.nn.functional.cross_entropy(output[:, :-1].flatten(0, 1), example[:, 1:].flatten())
    return torch.nn.functional.cross_entropy(output, torch.arange(len(output)) % output.shape[-1])


def flat(tensors):
    return torch.cat([tensor.detach().flatten() for tensor in tensors])


def step(model, function, example, optimizer):
    """Loss, gradients, how far the parameters moved, and buffers after one training step."""
    before = flat(model.parameters())
    optimizer.zero_grad()
    loss = loss_of(function, example)
    loss.backward()
    gradients = flat(parameter.grad for parameter in model.parameters())
    optimizer.step()
    buffers = [buffer for buffer in model.buffers() if buffer.is_floating_point()]
    return loss.detach(), gradients, flat(model.parameters()) - before, flat([torch.ones(1), *buffers])


def train(model, example, optimizer):
    """Three steps of the compiled model and of its twin in eager PyTorch, each from where the twin is."""
    model.train()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0  # Random numbers are drawn in another order.
    twin = copy.deepcopy(model)
    compiled = torch.compile(model, backend="stoker")
    make = {  # A move by less would be mostly the rounding of the weights.
        "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9),
        "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=1e-3)}[optimizer]
    optimizers = make(model.parameters()), make(twin.parameters())
    errors = {"loss": [], "gradient": [], "move": [], "buffer": []}
    for _ in range(3):
        model.load_state_dict(twin.state_dict())
        actual = step(model, compiled, example, optimizers[0])
        expected = step(twin, twin, example, optimizers[1])
        for each, pair in zip(errors.values(), zip(actual, expected)):
            each.append(relative_error(*pair))
    segments = [compiled["segments"] for compiled in stoker.compiles()]
    return {"errors": errors, "segments": segments, "fallbacks": stoker.fallback_ops(), "counters": stoker.counters()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", metavar="MODEL,...", help="gpt2, bert, llama, t5, vit, resnet, mlp")
    parser.add_argument("seed", nargs="?", type=int, default=0)
    parser.add_argument("width", nargs="?", type=int, default=64)
    parser.add_argument("--layers", type=int, default=2, help="of gpt2")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--change-weights", action="store_true")
    parser.add_argument("--outlive", action="store_true")
    parser.add_argument("--train", choices=("sgd", "adamw"), help="the optimizer")
    arguments = parser.parse_args()
    warnings = Warnings()
    results = {}
    for name in arguments.models.split(","):
        model, example = build(name, arguments.seed, arguments.width, arguments.batch, arguments.layers)
        dtype = getattr(torch, arguments.dtype)
        model = model.to(dtype).eval()
        example = example.to(dtype) if example.is_floating_point() else example
        if arguments.change_weights:
            results[name] = change_weights(model, example)
        elif arguments.outlive:
            results[name] = outlive(model, example, warnings)
        elif arguments.train:
            results[name] = train(model, example, arguments.train)
        else:
            results[name] = run(model, example, warnings)
    print(json.dumps(results if len(results) > 1 else next(iter(results.values())), default=str))


if __name__ == "__main__":
    main()
