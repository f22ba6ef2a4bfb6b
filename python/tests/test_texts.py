"""sign(), similarity() and explain()."""

import random

import numpy as np
import pyarrow as pa
import pytest
from corpus import documents, doppel, seed_of_this_run

from doppel_dedup import Index, explain, sign, similarity


def shingles(text, n=5):
    words = text.lower().split()
    return {tuple(words[i : i + n]) for i in range(len(words) - n + 1)}


def test_similarity_is_jaccard_of_word_5_grams():
    rng = random.Random(seed_of_this_run())
    for _ in range(100):
        words = [f"w{rng.randrange(300)}" for _ in range(rng.randrange(5, 400))]
        other = words[:]
        for _ in range(rng.randrange(1, 10)):
            other[rng.randrange(len(other))] = "x"
        a, b = " ".join(words), " ".join(other)
        expected = len(shingles(a) & shingles(b)) / len(shingles(a) | shingles(b))
        assert abs(similarity(a, b) - expected) < 0.01
    assert similarity("a b", "a b") == 1 and similarity("a b", "a c") == 0 and similarity("", "") == 0


def test_signatures_estimate_it():
    rng = random.Random(seed_of_this_run())
    texts = [t for t in documents(rng, 400) if len(t.split()) > 100]
    signatures = sign(texts)
    assert signatures.shape == (len(texts), 128) and signatures.dtype == np.uint64
    errors = [(signatures[0] == s).mean() - similarity(texts[0], t) for s, t in zip(signatures, texts)]
    assert np.abs(errors).max() < 0.25
    assert (signatures == sign(pa.array(texts), threads=2)).all()
    assert (signatures == np.stack([sign([t])[0] for t in texts])).all()
    assert sign([]).shape == (0, 128) and sign(["a b c d e f"], num_perm=64).shape == (1, 64)
    assert (sign([texts[0]], hash_key=b"0123456789abcdef") != signatures[0]).any()


def test_explain():
    e = explain("one two three four five six", "one two three four five six seven")
    assert (e.finding, e.duplicate, e.shared_shingles, e.all_shingles) == ("near_miss", False, 2, 3) or not e.duplicate
    assert e.headline and e.sentences and e.headline in str(e)
    assert explain("a b c d e f", "a b c d e f").finding == "exact"
    with pytest.raises(TypeError):
        explain("a", 7)
    with pytest.raises(TypeError, match="no such setting; did you mean threshold"):
        explain("a", "b", treshold=0.5)
