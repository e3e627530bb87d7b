"""Reads a report file with one of the programs that people use, and writes its rows as JSON: a list of lists.

    python3 read.py READER FILE

READER is pandas, pyarrow, openpyxl or libreoffice. FILE.json has the file's columns and the options of its format. A
value is a text in the form that package format has for its type, and a null is null.
"""

import csv
import datetime
import decimal
import json
import os
import subprocess
import sys
import tempfile

import openpyxl
import openpyxl.utils.escape
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

TEXT, INTEGER, DECIMAL, FLOAT, BOOL, DAY, TIME = range(7)


def arrow_type(column):
    return {
        TEXT: pa.string(),
        INTEGER: pa.int64(),
        DECIMAL: pa.decimal128(38, column["Scale"]),
        FLOAT: pa.float64(),
        BOOL: pa.bool_(),
        DAY: pa.date32(),
        TIME: pa.timestamp("us"),
    }[column["Type"]]


def pandas_rows(path, columns, options):
    names = [c["Name"] for c in columns]
    if options["format"] == "csv":
        kinds = {INTEGER: "Int64", FLOAT: "float64", BOOL: "boolean"}
        frame = pd.read_csv(
            path,
            sep=options.get("delimiter", ","),
            names=names if options.get("no_header") else None,
            dtype={c["Name"]: kinds.get(c["Type"], "string") for c in columns},
            keep_default_na=False,
            na_values=[options.get("null", "")],
            true_values=["1"],
            false_values=["0"],
            float_precision="round_trip",
        )
        for c in columns:
            if c["Type"] == DECIMAL:
                frame[c["Name"]] = frame[c["Name"]].map(decimal.Decimal, na_action="ignore")
            if c["Type"] in (DAY, TIME):
                frame[c["Name"]] = pd.to_datetime(frame[c["Name"]], format="ISO8601")
    elif options["format"] == "ndjson":
        frame = pd.read_json(path, lines=True, engine="pyarrow", dtype_backend="pyarrow")
    elif options["format"] == "parquet":
        frame = pd.read_parquet(path, dtype_backend="pyarrow")
    else:
        frame = pd.read_excel(path, dtype=object, keep_default_na=False)
        frame = frame.map(lambda v: openpyxl.utils.escape.unescape(v) if isinstance(v, str) else v)
        frame.columns = [openpyxl.utils.escape.unescape(name) for name in frame.columns]
    return list(frame.columns), frame.itertuples(index=False, name=None)


def pyarrow_rows(path, columns, options):
    schema = pa.schema([(c["Name"], arrow_type(c)) for c in columns])
    if options["format"] == "csv":
        table = pa.csv.read_csv(
            path,
            read_options=pa.csv.ReadOptions(column_names=schema.names if options.get("no_header") else None),
            parse_options=pa.csv.ParseOptions(delimiter=options.get("delimiter", ","), newlines_in_values=True),
            convert_options=pa.csv.ConvertOptions(
                column_types=schema,
                null_values=[options.get("null", "")],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                true_values=["1"],
                false_values=["0"],
            ),
        )
    elif options["format"] == "ndjson":
        # Its reader of JSON has no dates, and only decimals that are texts.
        known = pa.schema([
            (f.name, pa.string() if pa.types.is_date(f.type) else pa.float64() if pa.types.is_decimal(f.type) else f.type)
            for f in schema
        ])
        table = pa.json.read_json(path, parse_options=pa.json.ParseOptions(explicit_schema=known))
    else:
        table = pa.parquet.read_table(path)
        want = [pa.timestamp("us", "UTC") if pa.types.is_timestamp(f.type) else f.type for f in schema]
        assert table.schema.types == want, table.schema
    return table.column_names, zip(*(column.to_pylist() for column in table.columns))


def openpyxl_rows(path, columns, options):
    rows = openpyxl.load_workbook(path).active.iter_rows(values_only=True)
    # It leaves the characters that XML cannot hold as they are in the file.
    rows = ([openpyxl.utils.escape.unescape(v) if isinstance(v, str) else v for v in row] for row in rows)
    return next(rows), rows


def libreoffice_rows(path, columns, options):
    # 76 is UTF-8. Each column is a text (2), and the first line is read too. Words that look like numbers stay texts.
    given = []
    if options["format"] == "csv":
        kinds = "/".join(f"{i + 1}/2" for i in range(len(columns)))
        given = [f"--infilter=CSV:{ord(options.get('delimiter', ','))},34,76,1,{kinds},0,false,false"]
    with tempfile.TemporaryDirectory() as out:
        subprocess.run(
            ["soffice", "-env:UserInstallation=file://" + os.path.join(out, "profile"), "--headless", *given,
             "--convert-to", "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true", "--outdir", out, path],
            check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        with open(os.path.join(out, "report.csv"), newline="", encoding="utf-8") as f:
            rows = list(csv.reader(f))
    if options["format"] == "xlsx":
        booleans = {"TRUE": "1", "FALSE": "0"}
        active = [i for i, c in enumerate(columns) if c["Type"] == BOOL]
        for row in rows[1:]:
            for i in active:
                row[i] = booleans.get(row[i], row[i])
    if options.get("no_header"):
        return [c["Name"] for c in columns], rows
    return rows[0], rows[1:]


def text(value, column):
    if value is None or not isinstance(value, str) and pd.isna(value):
        return None
    if isinstance(value, str):
        return value
    assert column["Type"] != TEXT, f"{value!r} of {column} is no text"
    if pd.api.types.is_bool(value):
        return "1" if value else "0"
    if isinstance(value, decimal.Decimal):
        return f"{value:f}"
    if isinstance(value, datetime.datetime):
        value = value.replace(tzinfo=None)
        return str(value.date()) if column["Type"] == DAY else str(value)
    return str(value)


def main(reader, path):
    with open(path + ".json") as f:
        description = json.load(f)
    columns, options = description["columns"], description["format"]
    names, rows = globals()[reader + "_rows"](path, columns, options)
    rows = [[text(v, c) for v, c in zip(row, columns, strict=True)] for row in rows]
    json.dump({"names": list(names), "rows": rows}, sys.stdout)


main(*sys.argv[1:])
