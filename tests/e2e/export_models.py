"""Programs for torch.export, small ones of the kinds that are served; for test_export_archive.py and its jobs."""

import torch
from torch import nn
from torch.nn import functional as F


class Gpt2(nn.Module):
    """One block of GPT-2 with its embeddings; the head's weight is the embedding's."""

    def __init__(self, width=32, heads=4, words=61):
        super().__init__()
        self.heads = heads
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(16, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.words.weight

    def forward(self, tokens):
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1]))
        q, k, v = self.qkv(self.norms[0](x)).chunk(3, dim=-1)
        q, k, v = (y.unflatten(-1, (self.heads, -1)).transpose(1, 2) for y in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).flatten(-2))
        x = x + self.down(F.gelu(self.up(self.norms[1](x)), approximate="tanh"))
        return {"logits": self.head(self.norms[2](x)), "state": (x,)}


class Resnet(nn.Module):
    """The stem and a block of ResNet-18."""

    def __init__(self, width=8):
        super().__init__()
        self.stem, self.stem_norm = nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width)
        self.first, self.first_norm = nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)
        self.second, self.second_norm = nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)
        self.last = nn.Linear(width, 5)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.stem_norm(self.stem(x))), 3, 2, 1)
        y = F.relu(self.first_norm(self.first(x)))
        x = F.relu(self.second_norm(self.second(y)) + x)
        return self.last(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Mlp(nn.Module):
    """With what is not only dense parameters: a transposed weight, slices of one buffer, constants, a buffer that is not
    part of the state and that each call changes."""

    def __init__(self, width=16):
        super().__init__()
        self.first, self.second = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.turned = nn.Parameter(torch.randn(width, width).t())
        both = torch.randn(2 * width)
        self.register_buffer("scale", both[:width])
        self.register_buffer("shift", both[width:])
        self.register_buffer("calls", torch.zeros(1), persistent=False)

    def forward(self, x):
        self.calls.add_(1)
        y = self.second(F.silu(self.first(x))) @ self.turned
        weights = torch.tensor([1.0, 2.0], dtype=x.dtype).repeat(y.shape[-1] // 2)
        return y * self.scale * weights + self.shift, self.calls.clone()


class Mixed(nn.Module):
    """Sizes of two inputs, a number, an argument by keyword, autocast."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x, pair, factor=1.0, *, others):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.layer(torch.cat([x, pair[0]]))
        return y.float().sum(0) * factor + others["bias"], x.shape[0] + 1


class Heard(nn.Module):
    """A convolution over any length, which needs a number, before what does not."""

    def __init__(self):
        super().__init__()
        self.ear, self.norm, self.layer = nn.Conv1d(4, 8, 3), nn.LayerNorm(8), nn.Linear(8, 8)

    def forward(self, x):
        return self.layer(self.norm(F.gelu(self.ear(x)).transpose(1, 2))).softmax(-1)


class BatchNormInTraining(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(8)

    def forward(self, x):
        return self.norm(x).relu()


def with_random_statistics(model):
    """In evaluation, as a trained model is."""
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2.0)
    return model.eval()


def _batch(low=2, high=64):
    return torch.export.Dim("batch", min=low, max=high)


# Name -> a function that gives (model, arguments, keywords, dynamic_shapes).
PROGRAMS = {
    "gpt2": lambda: (Gpt2().eval(), (torch.randint(0, 61, (2, 7)),), {}, None),
    "resnet": lambda: (
        with_random_statistics(Resnet()), (torch.randn(2, 3, 24, 24).contiguous(memory_format=torch.channels_last),),
        {}, None),
    "mlp": lambda: (Mlp().eval(), (torch.randn(8, 16),), {}, ({0: _batch()},)),
    "mlp_bf16": lambda: (Mlp().bfloat16().eval(), (torch.randn(4, 16).bfloat16(),), {}, None),
    "mlp_f64": lambda: (Mlp().double().eval(), (torch.randn(4, 16).double(),), {}, None),
    "mlp_f16": lambda: (Mlp().half().eval(), (torch.randn(4, 16).half(),), {}, None),
    "mixed": lambda: (
        Mixed().eval(), (torch.randn(6, 8), [torch.randn(5, 8)], 2.0), {"others": {"bias": torch.randn(8)}},
        {"x": {0: 2 * _batch()}, "pair": [{0: torch.export.Dim("rows", min=2, max=64)}], "factor": None,
         "others": {"bias": None}}),
    "heard": lambda: (
        Heard().eval(), (torch.randn(2, 4, 16),), {}, ({2: torch.export.Dim("length", min=8, max=64)},)),
    "training": lambda: (BatchNormInTraining().train(), (torch.randn(6, 8),), {}, None),
}


def exported(name):
    """(ExportedProgram, model, arguments, keywords); the same in each process."""
    torch.manual_seed(0)
    model, arguments, keywords, dynamic_shapes = PROGRAMS[name]()
    program = torch.export.export(model, arguments, keywords, dynamic_shapes=dynamic_shapes)
    return program, model, arguments, keywords
