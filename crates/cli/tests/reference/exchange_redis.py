"""Copies YCSB's records from one database of a Redis to another, by a client that tailmark does not have.

Ends with an error if a record or its score is not as YCSB's binding writes it. Prints how many there are.

    exchange_redis.py HOST PORT FROM TO
"""

import sys

import redis

FIELDS = sorted(b"field%d" % number for number in range(10))


def java_hash(text):
    """`String.hashCode()` of Java."""
    value = 0
    for character in text:
        value = (31 * value + ord(character)) & 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


host, port, *numbers = sys.argv[1:]
source, target = (redis.Redis(host, int(port), int(number)) for number in numbers)
index = source.zrange("_indices", 0, -1, withscores=True)
for key, score in index:
    right = java_hash(key.decode())
    assert score == right, f"{key}: score {score}, not {right}"
    record = source.hgetall(key)
    assert sorted(record) == FIELDS, f"{key}: {record}"
    target.hset(key, mapping=record)
    target.zadd("_indices", {key: right})
print(len(index))
