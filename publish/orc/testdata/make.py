"""Writes the ORC files of this directory, and next to each a .json file with the columns and rows that a reader gives.

    python3 -m pip install pyarrow==26.0.1 pyorc==0.12.0
    python3 make.py [DIRECTORY SEED]

DIRECTORY is where it writes instead, and SEED is what other random values are drawn from.

Files that differ only in what follows the first point of their names have the same .json file.

The rows are what pyarrow reads from the written file. Only moments beyond the years 1678 to 2261 are taken from what
was written, because pyarrow cannot read them. A file that a reader refuses has the text of its error in place of rows.
"""

import datetime
import decimal
import json
import pathlib
import random
import struct
import sys
import zoneinfo

import pyarrow as pa
import pyarrow.orc
import pyorc

HERE, SEED = sys.argv[1:] if len(sys.argv) > 1 else (pathlib.Path(__file__).parent, 20260101)
HERE = pathlib.Path(HERE)
COMPRESSIONS = ["NONE", "ZLIB", "SNAPPY", "LZ4", "ZSTD"]
SMALL_BLOCKS = {"compression_block_size": 512, "memory_block_size": 512}
rng = random.Random(int(SEED))
documents = {}  # by the name of the .json file


def float_text(value, single):
    """The shortest text that reads back equal, in the form of Go's format g."""
    if value == 0:
        return "-0" if struct.pack(">d", value)[0] else "0"
    if single:
        for digits in range(1, 10):
            text = f"{value:.{digits - 1}e}"
            if struct.pack("<f", float(text)) == struct.pack("<f", value):
                break
    else:
        for digits in range(1, 18):
            text = f"{value:.{digits - 1}e}"
            if float(text) == value:
                break
    mantissa, exponent = text.split("e")
    exponent = int(exponent)
    sign = "-" if mantissa.startswith("-") else ""
    digits = mantissa.lstrip("-").replace(".", "").rstrip("0") or "0"
    if exponent < -4 or exponent >= 6:
        rest = "." + digits[1:] if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{rest}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    if len(digits) <= exponent + 1:
        return sign + digits + "0" * (exponent + 1 - len(digits))
    return f"{sign}{digits[:exponent + 1]}.{digits[exponent + 1:]}"


def time_text(seconds, nanos):
    day = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
    text = f"{day.year:04d}-{day:%m-%d %H:%M:%S}"
    assert nanos % 1000 == 0
    part = f"{nanos // 1000:06d}".rstrip("0")
    return text + "." + part if part else text


def text(value, kind):
    """The canonical text of a value that pyarrow read."""
    if not value.is_valid:
        return None
    if pa.types.is_boolean(kind):
        return "1" if value.as_py() else "0"
    if pa.types.is_floating(kind):
        return float_text(value.as_py(), kind == pa.float32())
    if pa.types.is_timestamp(kind):
        assert kind.unit == "ns"
        return time_text(value.value // 10**9, value.value % 10**9)
    if pa.types.is_decimal(kind):
        return f"{value.as_py():f}"
    return str(value.as_py())  # integers, texts and days


def column(field):
    kind = field.type
    scale = 0
    if pa.types.is_boolean(kind):
        name = "bool"
    elif pa.types.is_integer(kind):
        name = "integer"
    elif pa.types.is_floating(kind):
        name = "float"
    elif pa.types.is_timestamp(kind):
        name = "time"
    elif pa.types.is_decimal(kind):
        name, scale = "decimal", kind.scale
    elif pa.types.is_date(kind):
        name = "day"
    else:
        assert pa.types.is_string(kind)
        name = "text"
    return {"name": field.name, "type": name, "scale": scale}


def expect(name, rows=None, error=None):
    """Writes the .json of a file. The rows are what pyarrow reads, if they are not given."""
    path = HERE / f"{name}.orc"
    want = {}
    if error is None:
        table = pa.orc.ORCFile(path).read() if rows is None else None
        schema = pa.orc.ORCFile(path).schema
        want["columns"] = [column(field) for field in schema]
        if rows is None:
            columns = [[text(v, field.type) for v in table[i]] for i, field in enumerate(schema)]
            rows = list(zip(*columns))
        want["rows"] = "ROWS"
        lines = ",\n".join("    " + json.dumps(row, ensure_ascii=False) for row in rows)
        document = json.dumps(want, indent=2).replace('"ROWS"', "[\n" + lines + "\n  ]" if rows else "[]")
    else:
        document = json.dumps({"error": error}, indent=2)
    name = name.split(".")[0]
    assert documents.setdefault(name, document) == document, name
    (HERE / f"{name}.json").write_text(document + "\n")


def arrow(name, table, error=None, **options):
    pa.orc.write_table(table, HERE / f"{name}.orc", **options)
    expect(name, error=error)


def java_like(name, schema, rows, given=None, error=None, **options):
    """Writes a file with types that pyarrow has none of."""
    with open(HERE / f"{name}.orc", "wb") as out, pyorc.Writer(out, schema, **options) as writer:
        writer.writerows(rows)
    expect(name, given, error)


def nulls(values, every):
    return [None if i % every == 1 else v for i, v in enumerate(values)]


def types():
    """All types, with nulls, in all compressions. The blocks are small, so that streams have several chunks."""
    n = 120
    day = datetime.date(2024, 2, 28)
    moment = datetime.datetime(2024, 2, 28, 23, 59, 58, 500000)
    utc = datetime.timezone.utc
    columns = {
        "flag": pa.array(nulls([i % 3 == 0 for i in range(n)], 5), pa.bool_()),
        "tiny": pa.array(nulls([rng.randrange(-128, 128) if i % 9 else 7 for i in range(n)], 4), pa.int8()),
        "small": pa.array(nulls([rng.randrange(-2**15, 2**15) for _ in range(n)], 7), pa.int16()),
        "plain": pa.array([i * 1000 - 5 for i in range(n)], pa.int32()),
        "big": pa.array(nulls([rng.randrange(-2**63, 2**63) for _ in range(n)], 3), pa.int64()),
        "single": pa.array(nulls([rng.uniform(-1, 1) * 10 ** rng.randrange(-20, 20) for _ in range(n)], 6),
                           pa.float32()),
        "double": pa.array(nulls([rng.uniform(-1, 1) * 10 ** rng.randrange(-200, 200) for _ in range(n)], 8),
                           pa.float64()),
        "name": pa.array(nulls([f"Käufer {rng.randrange(10**9)}" if i % 10 else "" for i in range(n)], 11),
                         pa.string()),
        "cost": pa.array(nulls([decimal.Decimal(rng.randrange(-10**9, 10**9)).scaleb(-2) for _ in range(n)], 9),
                         pa.decimal128(18, 2)),
        "day": pa.array(nulls([day + datetime.timedelta(days=i) for i in range(n)], 10), pa.date32()),
        "at": pa.array(nulls([moment + datetime.timedelta(seconds=i * 0.25) for i in range(n)], 12),
                       pa.timestamp("us")),
        "instant": pa.array(nulls([(moment - datetime.timedelta(days=i * 400, microseconds=i)).replace(tzinfo=utc)
                                   for i in range(n)], 13), pa.timestamp("us", "UTC")),
        "none": pa.array([None] * n, pa.int64()),
    }
    table = pa.table(columns)
    arrow("types", table)
    schema = ("struct<flag:boolean,tiny:tinyint,small:smallint,plain:int,big:bigint,single:float,double:double,"
              "name:string,cost:decimal(18,2),day:date,at:timestamp,instant:timestamp with local time zone,"
              "none:bigint>")
    rows = list(zip(*(column.to_pylist() for column in columns.values())))
    rows = [row[:10] + (row[10] and row[10].replace(tzinfo=utc),) + row[11:] for row in rows]
    for compression in COMPRESSIONS:
        java_like(f"types.{compression.lower()}", schema, rows, compression=pyorc.CompressionKind[compression],
                  **SMALL_BLOCKS)


def shapes():
    """Integers that lead to each encoding of a run, in both versions."""
    n = 600
    outliers = [2000 + rng.randrange(100) for _ in range(n)]
    for i in range(7, n, 97):
        outliers[i] = 10**12 + i
    far = [rng.randrange(4) for _ in range(n)]
    far[0], far[400], far[511] = 2**40, 2**41, 2**50  # The gaps need several patches.
    extremes = [-2**63, 2**63 - 1, 0, -1, 1, 2**63 - 1, -2**63, -2**63] * (n // 8)
    columns = {
        "repeated": [7 if i // 5 % 2 else -123456789 for i in range(n)],
        "rising": [i * i for i in range(n)],
        "falling": [5 - i * (i % 7) - i * 10 for i in range(n)],
        "fixed": [10**15 - 3 * i for i in range(n)],
        "literals": [rng.randrange(-10**6, 10**6) for _ in range(n)],
        "outliers": outliers,
        "negative_outliers": [-v for v in outliers],
        "far_outliers": far,
        "extremes": extremes,
        "nulls": nulls([rng.randrange(-9, 9) for _ in range(n)], 2),
    }
    table = pa.table({name: pa.array(values, pa.int64()) for name, values in columns.items()})
    arrow("shapes", table, compression="zstd")
    arrow("shapes_v011", table.slice(0, 300), compression="zlib", file_version="0.11")


def texts():
    """Dictionaries and direct texts, in both versions, and in several stripes with different encodings."""
    n = 400
    words = ["", "Nevada", "California", "Florida", "é", "日本", "🙂 end"]
    table = pa.table({
        "state": nulls([words[rng.randrange(len(words))] for _ in range(n)], 6),
        "unique": [f"row {i}" for i in range(n)],
        "one": [""] * n,
        "at": pa.array([datetime.datetime(1999, 12, 31) + datetime.timedelta(seconds=i, microseconds=i * 37)
                        for i in range(n)], pa.timestamp("us")),
        "cost": pa.array([decimal.Decimal(i * i - 1000).scaleb(-3) for i in range(n)], pa.decimal128(10, 3)),
        "day": pa.array([datetime.date(1960, 1, 1) + datetime.timedelta(days=i * 31) for i in range(n)], pa.date32()),
    })
    arrow("dictionary", table, compression="snappy", dictionary_key_size_threshold=0.5, row_index_stride=100,
          bloom_filter_columns=[0, 1])
    arrow("dictionary_v011", table.slice(0, 200), file_version="0.11", dictionary_key_size_threshold=0.5)
    half = n // 2
    values = [rng.choice(words) for _ in range(half)] + [f"{i} {rng.random()}" for i in range(half)]
    arrow("stripes", pa.table({"v": values, "n": list(range(n))}), stripe_size=1, batch_size=50,
          row_index_stride=50,
          dictionary_key_size_threshold=0.5, compression="lz4")
    long = pa.table({"v": ["x" * 3000, "y" * 1, "", "z" * 1500 + "ü" * 700]})
    arrow("long_texts", long)
    java_like("long_texts.zstd", "struct<v:string>", [(v,) for v in long["v"].to_pylist()],
              compression=pyorc.CompressionKind.ZSTD, **SMALL_BLOCKS)


def decimals():
    big = 10**38 - 1
    unscaled = [0, 1, -1, 10, -10, 12345678901234567890, -12345678901234567890, big, -big, 2**64, -2**64, 2**63, 10**19]
    decimal.getcontext().prec = 60
    columns = {}
    for precision, scale in [(38, 0), (38, 10), (38, 30), (9, 9), (5, 2)]:
        columns[f"d{precision}_{scale}"] = pa.array(
            [None if abs(v) >= 10**precision else decimal.Decimal(v).scaleb(-scale) for v in unscaled],
            pa.decimal128(precision, scale))
    arrow("decimals", pa.table(columns), compression="zlib")
    arrow("decimals.v011", pa.table(columns), file_version="0.11")


def moments():
    days = [datetime.date(1, 1, 1), datetime.date(1582, 10, 4), datetime.date(1582, 10, 15),
            datetime.date(1969, 12, 31), datetime.date(1970, 1, 1), datetime.date(2000, 2, 29),
            datetime.date(9999, 12, 31)]
    arrow("days", pa.table({"day": pa.array(days, pa.date32())}))
    # Seconds and nanoseconds around 1970 and 2015, and each number of trailing zeros.
    times = [s * 10**9 + n for s in [-86400 * 365 * 100, -2, -1, 0, 1, 1420070399, 1420070400, 4102444800]
             for n in [0, 1000, 999000, 1000000, 10000, 100000, 123456000, 500000000, 999999000]]
    arrow("times", pa.table({"at": pa.array(times, pa.timestamp("ns")), "instant": pa.array(
        times, pa.timestamp("ns", "UTC"))}), compression="snappy")
    far = [datetime.datetime(1, 1, 1), datetime.datetime(1582, 10, 14, 23, 59, 59),
           datetime.datetime(9999, 12, 31, 23, 59, 59)]
    java_like("far_times", "struct<at:timestamp>", [(v.replace(tzinfo=datetime.timezone.utc),) for v in far],
              [(f"{v.year:04d}-{v:%m-%d %H:%M:%S}",) for v in far])


def zones():
    """Times of day around the changes of the clocks in the writer's zone."""
    new_york = [datetime.datetime(2024, 3, 10, 6, 59, 59), datetime.datetime(2024, 3, 10, 7, 0, 0),
                datetime.datetime(2024, 11, 3, 5, 30, 0), datetime.datetime(2024, 11, 3, 6, 30, 0),
                datetime.datetime(2015, 1, 1), datetime.datetime(1969, 7, 20, 20, 17, 40),
                datetime.datetime(1910, 1, 1), datetime.datetime(2040, 7, 4, 12)]
    rows = [(v.replace(tzinfo=datetime.timezone.utc, microsecond=250000), v.replace(tzinfo=datetime.timezone.utc))
            for v in new_york]
    for zone in ["America/New_York", "Asia/Shanghai", "Europe/London"]:
        java_like("zone_" + zone.split("/")[1].lower(),
                  "struct<at:timestamp,instant:timestamp with local time zone>", rows,
                  timezone=zoneinfo.ZoneInfo(zone))


def kinds():
    """Types that pyarrow writes none of."""
    rows = [("a", "ab", 1, True), ("abc  ", "日本語です", -128, False), (None,) * 4, ("", "", 127, True)]
    java_like("kinds", "struct<c:char(5),v:varchar(10),t:tinyint,b:boolean>", rows)
    java_like("empty", "struct<a:int,b:string>", [])


def refused():
    integers = pa.array([[1]], pa.list_(pa.int64()))
    arrow("refused_list", pa.table({"x": integers}), error='column "x" is a list<…>: want a number')
    java_like("refused_map", "struct<x:map<string,int>>", [({"a": 1},)],
              error='column "x" is a map<…>: want a number')
    java_like("refused_struct", "struct<x:struct<y:int>>", [((1,),)],
              error='column "x" is a struct<…>: want a number')
    java_like("refused_union", "struct<x:uniontype<int,string>>", [(1,)],
              error='column "x" is a uniontype<…>: want a number')
    java_like("refused_root", "int", [1], error="a row is a int: want a struct")
    arrow("refused_binary", pa.table({"x": [b"1"]}), error='column "x" is a binary: want a number')
    arrow("refused_scale", pa.table({"x": pa.array([decimal.Decimal("1e-31")], pa.decimal128(38, 31))}),
          error='column "x" is a decimal(38, 31): want')
    arrow("refused_nan", pa.table({"x": [1.5, float("nan")]}),
          error='the column "x" of the row 2 of the ORC file: NaN: want a finite number')
    arrow("refused_infinity", pa.table({"x": pa.array([float("-inf")], pa.float32())}),
          error='the column "x" of the row 1 of the ORC file: -Inf: want a finite number')
    arrow("refused_nanoseconds", pa.table({"x": pa.array([1000, 1001], pa.timestamp("ns"))}),
          error='the column "x" of the row 2 of the ORC file: it has 1001 nanoseconds: want whole microseconds')
    arrow("refused_day", pa.table({"x": pa.array([2932897], pa.date32())}),
          error='the column "x" of the row 1 of the ORC file: it is 2932897 days after 1970-01-01: want a year')


if __name__ == "__main__":
    types()
    shapes()
    texts()
    decimals()
    moments()
    zones()
    kinds()
    refused()
