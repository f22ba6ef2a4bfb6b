"""Deduplicates with the wheel that is installed, without other packages than numpy, and says where. It leaves a folder behind."""
import os
import platform
import sys

import doppel_dedup

texts = ["one two three four five six", "seven eight nine ten eleven twelve", "One, two, three: four, five, six."]
assert doppel_dedup.deduplicate({"text": texts}) == {"text": texts[:2]}
with doppel_dedup.Index(path="index") as index:
    assert list(index.add(texts, ids=["a", "b", "c"]).is_unique) == [True, True, False]
with doppel_dedup.Index(path="index") as index:
    assert "b" in index and index.documents == 3
print(f"works with Python {sys.version.split()[0]} on {platform.machine()} with {os.confstr('CS_GNU_LIBC_VERSION')}:", doppel_dedup._core.__file__)
