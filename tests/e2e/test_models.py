"""Real models of every kind in both dtypes and two batch sizes: one graph, no fallback, right numbers."""

import pytest

MODELS = "gpt2,bert,resnet,vit,llama,t5"


@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_models(site, dtype, batch):
    results = site.run(MODELS, "--dtype", dtype, "--batch", batch)
    assert list(results) == MODELS.split(",")
    for name, result in results.items():
        assert result["warnings"] == [], name
        assert result["graphs"] == 1, name
        assert result["last"]["segments"] == 1, name
        assert result["last"]["fallback_ops"] == {}, name
        assert result["repeats"], name
        if dtype == "float32":
            assert result["error"] <= 1e-5, name
        else:
            assert result["error"] <= 2e-2, name
            assert result["error"] <= 1.2 * result["eager_error"], name


def test_new_weights_are_used(site):
    """Whichever way they change, the next call sees it, and nothing but another batch size compiles."""
    result = site.run("mlp", "--change-weights")
    assert len(result["changes"]) == 6
    assert all(result["changes"].values()), result["changes"]
    assert site.stats()["compiles"] == 2
