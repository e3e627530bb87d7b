"""Writes the Parquet files of this directory.

    python3 -m pip install pyarrow==26.0.1
    python3 make.py

The files types.*.parquet have the columns and rows of types.json, whose texts are written here by hand.
"""

import datetime as dt
import decimal
import json
import pathlib

import pyarrow as pa
import pyarrow.parquet as pq

HERE = pathlib.Path(__file__).parent
D = decimal.Decimal
UTC = dt.timezone.utc
MOMENT = dt.datetime(2026, 11, 29, 2, 3, 4)
EARLY = dt.datetime(1, 1, 1)
LATE = dt.datetime(9999, 12, 31, 23, 59, 59, 999999)
NINES = "9" * 38

# name, the type of a column, the type of Arrow, two values, their texts
COLUMNS = [
    ("bool", "bool", pa.bool_(), [True, False], ["1", "0"]),
    ("int8", "integer", pa.int8(), [-128, 127], ["-128", "127"]),
    ("int16", "integer", pa.int16(), [-32768, 32767], ["-32768", "32767"]),
    ("int32", "integer", pa.int32(), [-(2**31), 2**31 - 1], ["-2147483648", "2147483647"]),
    ("int64", "integer", pa.int64(), [-(2**63), 2**63 - 1], ["-9223372036854775808", "9223372036854775807"]),
    ("uint8", "integer", pa.uint8(), [0, 255], ["0", "255"]),
    ("uint32", "integer", pa.uint32(), [1, 2**32 - 1], ["1", "4294967295"]),
    ("uint64", "integer", pa.uint64(), [1, 2**64 - 1], ["1", "18446744073709551615"]),
    ("float", "float", pa.float32(), [0.1, -1.5e10], ["0.1", "-1.5e+10"]),
    ("double", "float", pa.float64(), [0.1, 1e-7], ["0.1", "1e-07"]),
    ("cents", "decimal2", pa.decimal128(9, 2), [D("-12.50"), D("0.07")], ["-12.50", "0.07"]),
    ("micros", "decimal6", pa.decimal128(18, 6), [D("-0.000001"), D("999999999999.999999")],
     ["-0.000001", "999999999999.999999"]),
    ("wide", "decimal10", pa.decimal128(38, 10), [D("-" + NINES[:28] + "." + NINES[28:]), D("0")],
     ["-" + NINES[:28] + "." + NINES[28:], "0.0000000000"]),
    ("whole", "decimal0", pa.decimal128(38, 0), [D(NINES), D("-1")], [NINES, "-1"]),
    ("text", "text", pa.string(), ["", "a,\"b\"\n 日 😀"], ["", "a,\"b\"\n 日 😀"]),
    ("large_text", "text", pa.large_string(), ["x" * 300, "y"], ["x" * 300, "y"]),
    ("word", "text", pa.dictionary(pa.int32(), pa.string()), ["red", "blue"], ["red", "blue"]),
    ("day", "day", pa.date32(), [EARLY.date(), LATE.date()], ["0001-01-01", "9999-12-31"]),
    ("at", "time", pa.timestamp("us"), [EARLY, LATE], ["0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"]),
    ("at_ms", "time", pa.timestamp("ms"), [MOMENT, MOMENT.replace(microsecond=120000)],
     ["2026-11-29 02:03:04", "2026-11-29 02:03:04.12"]),
    ("at_ns", "time", pa.timestamp("ns"), [MOMENT, dt.datetime(1969, 12, 31, 23, 59, 59, 999999)],
     ["2026-11-29 02:03:04", "1969-12-31 23:59:59.999999"]),
    ("instant", "time", pa.timestamp("us", tz="Asia/Shanghai"), [MOMENT.replace(tzinfo=UTC)] * 2,
     ["2026-11-29 02:03:04"] * 2),
]


def types():
    fields, arrays, texts = [], [], []
    for name, _, kind, values, _ in COLUMNS:
        fields.append(pa.field(name, kind))
        arrays.append(pa.array([values[0], None, values[1]], type=kind))
    table = pa.table(arrays, schema=pa.schema(fields))
    for row in range(3):
        texts.append([None if row == 1 else c[4][row // 2] for c in COLUMNS])
    names = [{"name": c[0], "type": c[1].rstrip("0123456789"), "scale": int(c[1].removeprefix("decimal"))
              if c[1].startswith("decimal") else 0} for c in COLUMNS]
    (HERE / "types.json").write_text(json.dumps({"columns": names, "rows": texts}, ensure_ascii=False, indent=1) + "\n")
    plain = {"use_dictionary": False, "compression": "NONE"}
    for name, options in {
        "plain": plain,
        "snappy": {"compression": "SNAPPY"},
        "zstd.v2": {"compression": "ZSTD", "data_page_version": "2.0", "version": "2.6"},
        "gzip.v1": {"compression": "GZIP", "version": "1.0", "coerce_timestamps": "us"},
        "brotli": {"compression": "BROTLI", "store_decimal_as_integer": True},
        "lz4.index": {"compression": "LZ4", "write_page_index": True, "write_page_checksum": True},
        "delta": {**plain, "column_encoding": {
            "int32": "DELTA_BINARY_PACKED", "text": "DELTA_BYTE_ARRAY", "large_text": "DELTA_LENGTH_BYTE_ARRAY",
            "double": "BYTE_STREAM_SPLIT"}},
    }.items():
        pq.write_table(table, HERE / f"types.{name}.parquet", **options)


def others():
    # INT96 has the moments of 1677 to 2262 in the library that writes it.
    early = dt.datetime(1960, 2, 29, 23, 59, 59, 999999)
    moments = pa.table({"at": pa.array([MOMENT, None, early], pa.timestamp("us"))})
    pq.write_table(moments, HERE / "int96.parquet", use_deprecated_int96_timestamps=True)
    # Several row groups with several pages each.
    rows = range(1000)
    pages = pa.table({
        "n": pa.array(rows, pa.int64()),
        "word": pa.array([None if n % 5 == 0 else f"word {n % 7}" for n in rows]),
        "text": pa.array([f"text {n}" for n in rows]),
        "none": pa.array([None] * 1000, pa.string()),
    })
    pq.write_table(pages, HERE / "pages.parquet", row_group_size=300, data_page_size=256, write_batch_size=10)
    refused = pa.table({
        "id": pa.array([7]),
        "list": pa.array([[1, 2]]),
        "struct": pa.array([{"a": 1, "b": {"c": "x"}}]),
        "map": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())),
        "binary": pa.array([b"\xff"]),
        "time": pa.array([dt.time(1, 2, 3)]),
        "long": pa.array([D("1")], pa.decimal256(50, 0)),
        "last": pa.array(["end"]),
    })
    pq.write_table(refused, HERE / "refused.parquet")
    values = pa.table({
        "nan": pa.array([1.0, float("nan")]),
        "nanos": pa.array([0, 1], pa.timestamp("ns")),
        "far": pa.array([0, 300_000_000_000_000_000], pa.timestamp("us")),
        "far_day": pa.array([0, 3_000_000], pa.date32()),
        "latin1": pa.array([b"a", b"\xe4"]).view(pa.string()),
    })
    pq.write_table(values, HERE / "values.parquet")
    pq.write_table(pages.slice(0, 0), HERE / "empty.parquet")


types()
others()
