"""Programs made of the model files of installed packages: copies, tiny, that are mutated as a program's own files."""

import ast
import importlib.util
import pathlib

from mutants.programs import Program

# A package's own list of its models has these already.
_REGISTERS = ("register_model", "generate_default_cfgs", "register_model_deprecations")

_IDS = "torch.arange(8).reshape(1, 8)"
_IMAGE = "torch.linspace(-1, 1, 3 * 32 * 32).reshape(1, 3, 32, 32)"
# Name -> (module, what makes the model, its argument).
_MODELS = {
    "real_gpt2": (
        "transformers.models.gpt2.modeling_gpt2",
        "GPT2LMHeadModel(GPT2Config(n_layer=1, n_head=2, n_embd=32, vocab_size=64, n_positions=32, "
        "use_cache=False))", _IDS),
    "real_bert": (
        "transformers.models.bert.modeling_bert",
        "BertModel(BertConfig(num_hidden_layers=1, num_attention_heads=2, hidden_size=32, intermediate_size=64, "
        "vocab_size=64, max_position_embeddings=32))", _IDS),
    "real_llama": (
        "transformers.models.llama.modeling_llama",
        "LlamaForCausalLM(LlamaConfig(num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1, "
        "hidden_size=32, intermediate_size=64, vocab_size=64, max_position_embeddings=32, use_cache=False))", _IDS),
    "real_resnet": ("torchvision.models.resnet", "ResNet(BasicBlock, [1, 1, 1, 1], num_classes=10)", _IMAGE),
    "real_vit": (
        "timm.models.vision_transformer",
        "VisionTransformer(img_size=32, patch_size=16, embed_dim=32, depth=1, num_heads=2, num_classes=10)", _IMAGE)}


def programs():
    """Of the packages that are there."""
    return [
        Program(name, {f"{name}.py": _text(module, model, argument)})
        for name, (module, model, argument) in _MODELS.items() if _is_there(module)]


def modules(programs):
    """What their files import, once imported."""
    return [_MODELS[program.name][0] for program in programs if program.name in _MODELS]


def _is_there(module):
    return importlib.util.find_spec(module.partition(".")[0]) is not None


def _text(module, model, argument):
    package = importlib.util.find_spec(module.partition(".")[0])
    path = pathlib.Path(package.submodule_search_locations[0], *module.split(".")[1:]).with_suffix(".py")
    tree = ast.parse(path.read_text())
    tree.body = [node for node in tree.body if not _registers(node)]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            outer = module.split(".")[:-node.level]
            node.module, node.level = ".".join([*outer, *filter(None, [node.module])]), 0
    return f"{ast.unparse(tree)}\n\n\ndef make():\n    return {model}.eval(), ({argument},)\n"


def _registers(node):
    """A model's name and weights."""
    return any(
        isinstance(part, ast.Name) and part.id in _REGISTERS
        for top in (*getattr(node, "decorator_list", ()), getattr(node, "value", None) or ast.Pass())
        for part in ast.walk(top))
