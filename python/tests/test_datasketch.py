"""Programs for datasketch with one line changed, and what is refused by name."""

import copy
import pickle
import random

import numpy as np
import pytest
from corpus import seed_of_this_run

import doppel_dedup.datasketch
from doppel_dedup.datasketch import MinHash, MinHashLSH


def sketch_of(words, **kwargs):
    m = MinHash(**kwargs)
    for word in words:
        m.update(word.encode("utf8"))
    return m


def sets_with(jaccard, size=1000):
    shared = round(2 * size * jaccard / (1 + jaccard))
    return [f"s{i}" for i in range(shared)] + [f"a{i}" for i in range(size - shared)], [
        f"s{i}" for i in range(shared)] + [f"b{i}" for i in range(size - shared)]


# ---- programs in the style of datasketch's documentation


def test_estimating_the_similarity_of_two_sets():
    first = ["sketches", "estimate", "how", "similar", "two", "sets", "of", "words", "are"]
    second = ["sketches", "estimate", "how", "similar", "two", "bags", "of", "tokens", "are"]
    m1, m2 = MinHash(), MinHash()
    for d in first:
        m1.update(d.encode("utf8"))
    for d in second:
        m2.update(d.encode("utf8"))
    s1, s2 = set(first), set(second)
    actual = len(s1.intersection(s2)) / len(s1.union(s2))
    assert abs(m1.jaccard(m2) - actual) < 0.2


def test_looking_for_similar_sets():
    base = [f"token{i}" for i in range(100)]
    m1, m2, m3 = MinHash(num_perm=128), MinHash(num_perm=128), MinHash(num_perm=128)
    for d in base:
        m1.update(d.encode("utf8"))
    for d in base[:95] + ["other"]:
        m2.update(d.encode("utf8"))
    for d in [f"unrelated{i}" for i in range(100)]:
        m3.update(d.encode("utf8"))
    lsh = MinHashLSH(threshold=0.5, num_perm=128)
    lsh.insert("m2", m2)
    lsh.insert("m3", m3)
    assert lsh.query(m1) == ["m2"]
    assert "m2" in lsh and "m1" not in lsh
    lsh.remove("m2")
    assert lsh.query(m1) == [] and "m2" not in lsh


def test_many_at_once():
    rng = np.random.default_rng(1)
    data = [(f"set{i}", {f"{v}" for v in rng.integers(0, 10**6, 50)}) for i in range(200)]
    lsh = MinHashLSH(threshold=0.8, num_perm=64)
    minhashes = MinHash.bulk([[v.encode() for v in values] for _, values in data], num_perm=64, seed=3)
    with lsh.insertion_session() as session:
        for (key, _), minhash in zip(data, minhashes):
            session.insert(key, minhash)
    for (key, _), minhash in zip(data, minhashes):
        assert lsh.query(minhash)[0] == key


def test_a_pickled_index_goes_on(tmp_path):
    lsh = MinHashLSH(threshold=0.7, num_perm=32)
    lsh.insert("a", sketch_of("a b c d".split(), num_perm=32))
    with open(tmp_path / "lsh", "wb") as file:
        pickle.dump(lsh, file)
    with open(tmp_path / "lsh", "rb") as file:
        again = pickle.load(file)
    assert again.query(sketch_of("a b c d".split(), num_perm=32)) == ["a"]
    again.insert("b", sketch_of("e f g".split(), num_perm=32))
    assert "b" in again and "b" not in lsh


# ---- what they promise


def test_estimates_are_right_on_average():
    seed = seed_of_this_run()
    for jaccard in (0.1, 0.5, 0.8, 0.95):
        a, b = sets_with(jaccard)
        estimates = [sketch_of(a, seed=seed + i).jaccard(sketch_of(b, seed=seed + i)) for i in range(40)]
        assert abs(np.mean(estimates) - jaccard) < 0.03
        assert np.std(estimates) < 1.5 * (jaccard * (1 - jaccard) / 128) ** 0.5


@pytest.mark.parametrize("size", [0, 1, 2, 10, 100, 1000, 50_000])
def test_count(size):
    counts = []
    for seed in range(30):
        m = MinHash(seed=seed)
        m.update_batch(f"{i}".encode() for i in range(size))
        m.update_batch(f"{i}".encode() for i in range(size))  # repeats change nothing
        counts.append(m.count())
    assert abs(np.mean(counts) - size) <= 0.08 * size
    assert np.std(counts) <= 0.2 * size


def test_one_by_one_in_batches_and_merged_are_the_same():
    rng = random.Random(seed_of_this_run())
    elements = [f"{rng.random()}".encode() for _ in range(10_000)]
    a, b, c, d = (MinHash(num_perm=64) for _ in range(4))
    for e in elements:
        a.update(e)
    b.update_batch(elements)
    c.update_batch(elements[:7000])
    d.update_batch(elements[5000:])
    c.merge(d)
    assert a == b == c and a.jaccard(b) == 1
    assert MinHash.union(c, d) == a
    assert (a.hashvalues == b.digest()).all() and a.hashvalues.dtype == np.uint64 and len(a) == 64


def test_copies_are_independent():
    a = sketch_of(["x"])
    for other in (a.copy(), copy.copy(a), copy.deepcopy(a), pickle.loads(pickle.dumps(a))):
        assert other == a
        other.update(b"y")
        assert other != a and a == sketch_of(["x"])
    a.clear()
    assert a.is_empty() and a == MinHash()


def test_another_hash_function_stands_for_the_elements():
    calls = []

    def hashfunc(element):
        calls.append(element)
        return hash(element) & 0xFFFFFFFF

    a, b = MinHash(hashfunc=hashfunc), MinHash(hashfunc=hashfunc)
    a.update_batch(["a", "b"])
    b.update("a")
    b.update("b")
    assert calls == ["a", "b", "a", "b"] and a == b


def test_what_does_not_compare():
    with pytest.raises(ValueError, match="seed: 1 and 2"):
        MinHash(seed=1).jaccard(MinHash(seed=2))
    with pytest.raises(ValueError, match="num_perm: 128 and 64"):
        MinHash().merge(MinHash(num_perm=64))
    lsh = MinHashLSH(num_perm=64)
    with pytest.raises(ValueError, match="num_perm: the index has 64, the MinHash 128"):
        lsh.insert("a", MinHash())
    lsh.insert("a", MinHash(num_perm=64))
    with pytest.raises(ValueError, match="key 'a' is there already"):
        lsh.insert("a", MinHash(num_perm=64))
    with pytest.raises(ValueError, match="key 'b' is not there"):
        lsh.remove("b")
    with pytest.raises(TypeError, match='elements are bytes, not str; encode them'):
        MinHash().update("word")
    with pytest.raises(ValueError, match="num_perm: 1 is not between"):
        MinHash(num_perm=1)
    with pytest.raises(TypeError, match="as in datasketch 2.0; give hashfunc by its name"):
        MinHash(4, 1, hash)


def test_sketches_of_few_numbers():
    a, b = MinHash(4, 1), MinHash(4, 1)
    assert a.jaccard(b) == 1 and len(a.hashvalues) == len(a) == 4 and np.array_equal(a.permutations, b.permutations)
    b.update(b"x")
    assert a.jaccard(b) == 0 and (b.hashvalues < a.hashvalues).all() and pickle.loads(pickle.dumps(b)) == b
    lsh = MinHashLSH(threshold=0.5, num_perm=4)
    lsh.insert("b", b)
    assert lsh.query(b) == ["b"] and lsh.b * lsh.r <= 8


def test_sessions_buffers_and_what_is_inside():
    lsh = MinHashLSH(threshold=0.5, num_perm=16)
    with lsh.insertion_session(buffer_size=10) as session:
        for key in "abc":
            session.insert(key, sketch_of([key], num_perm=16))
    assert lsh.buffer_size == 10 and set(lsh.keys) == set("abc") and "a" in lsh.keys
    for band, table in enumerate(lsh.hashtables):
        assert sorted(key for keys in table.values() for key in keys) == ["a", "b", "c"]
        assert "b" in table[lsh.keys["b"][band]]
    assert [sum(band.values()) for band in lsh.get_subset_counts("a", "c")] == [2] * lsh.b
    lsh.add_to_query_buffer(sketch_of(["a"], num_perm=16))
    assert lsh.collect_query_buffer() == ["a"] and lsh.collect_query_buffer() == []
    lsh.add_to_query_buffer(sketch_of(["a"], num_perm=16))
    lsh.add_to_query_buffer(sketch_of(["b"], num_perm=16))
    assert lsh.collect_query_buffer() == []  # found by all of them
    with lsh.deletion_session() as session:
        session.remove("a")
        session.remove("b")
    assert list(lsh.keys) == ["c"] and lsh.query(sketch_of(["a"], num_perm=16)) == []


def test_weights_move_how_many_pairs_are_missed():
    few, many = MinHashLSH(threshold=0.8, weights=(0.99, 0.01)), MinHashLSH(threshold=0.8, weights=(0.01, 0.99))
    assert 1 - (1 - 0.8**few.r) ** few.b < 1 - (1 - 0.8**many.r) ** many.b
    with pytest.raises(ValueError, match="weights"):
        MinHashLSH(weights=(0.5, 0.6))
    again = pickle.loads(pickle.dumps(many))
    assert (again.b, again.r) == (many.b, many.r)


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.8, 0.9])
def test_queries_find_what_reaches_the_threshold(threshold):
    rng = random.Random(seed_of_this_run())
    found = {True: [], False: []}
    for i in range(60):
        above = i % 2 == 0
        jaccard = min(0.99, threshold + 0.15) if above else threshold - 0.2
        a, b = sets_with(max(0.02, jaccard), 400)
        seed = rng.randrange(1 << 32)
        lsh = MinHashLSH(threshold=threshold)
        lsh.insert("a", sketch_of(a, seed=seed))
        found[above].append(lsh.query(sketch_of(b, seed=seed)) == ["a"])
    assert np.mean(found[True]) > 0.9 and np.mean(found[False]) < 0.1


def test_bands_as_they_were_asked_for():
    lsh = MinHashLSH(num_perm=128, params=(16, 8))
    assert (lsh.b, lsh.r) == (16, 8) and abs(lsh.threshold - (1 / 16) ** (1 / 8)) < 1e-9
    m = sketch_of(["a", "b"])
    lsh.insert("x", m)
    lsh.insert("y", m.copy())
    lsh.insert("z", sketch_of(["c"]))
    counts = lsh.get_counts()
    assert len(counts) == 16 and all(sorted(band.values()) == [1, 2] for band in counts)
    assert sorted(lsh.query(m)) == ["x", "y"]
    lsh.remove("x")
    assert all(sorted(band.values()) == [1, 1] for band in lsh.get_counts())


def test_indexes_are_merged():
    a, b = MinHashLSH(threshold=0.8), MinHashLSH(threshold=0.8)
    a.insert("x", sketch_of(["a"]))
    b.insert("x", sketch_of(["a"]))
    b.insert(("any", "key"), sketch_of(["b"]))
    with pytest.raises(ValueError, match="both have the keys"):
        a.merge(b, check_overlap=True)
    a.merge(b)
    assert sorted(map(str, a.keys)) == ["('any', 'key')", "x"] and not a.is_empty()


# ---- where it is


def test_the_modules_have_the_names_of_datasketch():
    from doppel_dedup.datasketch import lsh, minhash

    assert minhash.MinHash is MinHash and lsh.MinHashLSH is MinHashLSH
    assert lsh.MinHashLSHInsertionSession is doppel_dedup.datasketch.MinHashLSHInsertionSession


# ---- what is missing


@pytest.mark.parametrize("name", ["MinHashLSHForest", "MinHashLSHEnsemble", "LeanMinHash", "WeightedMinHashGenerator",
                                  "HyperLogLog", "HyperLogLogPlusPlus", "HNSW", "bBitMinHash"])
def test_classes_that_are_missing_say_what_to_use(name):
    with pytest.raises(ImportError, match=f"doppel_dedup.datasketch has no {name}: .+"):
        exec(f"from doppel_dedup.datasketch import {name}")


def test_arguments_that_are_missing_say_what_to_use():
    for kind in ("redis", "cassandra", "aioredis"):
        with pytest.raises(NotImplementedError, match=f"(?s){kind}.*doppel_dedup.Index"):
            MinHashLSH(storage_config={"type": kind, "redis": {"host": "localhost", "port": 6379}})
    MinHashLSH(storage_config={"type": "dict"})
    for argument in ("hashobj", "hashvalues", "permutations"):
        with pytest.raises(NotImplementedError, match=argument):
            MinHash(**{argument: [1]})
    with pytest.raises(AttributeError):
        doppel_dedup.datasketch.nothing
