package orc

import (
	"errors"
	"fmt"

	"adsync/publish/format"
)

// typeKind is the kind of a type, with the numbers of the format.
type typeKind uint64

const (
	kindBoolean   typeKind = 0
	kindByte      typeKind = 1
	kindShort     typeKind = 2
	kindInt       typeKind = 3
	kindLong      typeKind = 4
	kindFloat     typeKind = 5
	kindDouble    typeKind = 6
	kindString    typeKind = 7
	kindTimestamp typeKind = 9
	kindStruct    typeKind = 12
	kindDecimal   typeKind = 14
	kindDate      typeKind = 15
	kindVarchar   typeKind = 16
	kindChar      typeKind = 17
	kindInstant   typeKind = 18
)

// kindNames are the names of the kinds in SQL, by their numbers.
var kindNames = []string{
	"boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "binary", "timestamp", "list<…>",
	"map<…>", "struct<…>", "uniontype<…>", "decimal", "date", "varchar", "char", "timestamp with local time zone",
	"geometry", "geography",
}

func (k typeKind) String() string {
	if k < typeKind(len(kindNames)) {
		return kindNames[k]
	}
	return fmt.Sprintf("type of the kind %d", uint64(k))
}

const (
	scaleMax     = 30 // of a format.Column
	precisionMax = 38
)

// schemaType is a type of the file's schema. Types are numbered in the order of the footer. The first is the rows'.
type schemaType struct {
	kind             typeKind
	precision, scale uint64
}

// root has the fields of the rows: their types and their names.
type root struct {
	types []uint64
	names []string
}

// column is a column of the rows.
type column struct {
	format.Column
	id   int // the number of its type
	kind typeKind
}

// parseType parses a type. It adds the type's fields to fields if that is not nil.
func parseType(message []byte, fields *root) (t schemaType, err error) {
	err = eachField(message, func(v field) (err error) {
		switch v.id {
		case 1:
			t.kind = typeKind(v.number)
		case 2:
			if fields != nil {
				fields.types, err = appendNumbers(fields.types, v)
			}
		case 3:
			if fields != nil && len(fields.names) < typesMax {
				fields.names = append(fields.names, string(v.bytes))
			}
		case 5:
			t.precision = v.number
		case 6:
			t.scale = v.number
		}
		return err
	})
	return t, err
}

// columnsOf returns the columns of the rows.
func columnsOf(f footer) ([]column, error) {
	if len(f.types) == 0 {
		return nil, errors.New("the footer has no types")
	}
	if f.types[0].kind != kindStruct {
		return nil, fmt.Errorf("a row is a %s: want a struct of columns", f.types[0].kind)
	}
	if len(f.root.types) != len(f.root.names) || len(f.root.types) == 0 || len(f.root.types) >= len(f.types) {
		return nil, fmt.Errorf("a row has %d columns, %d names and %d types: want one of each for each column",
			len(f.root.types), len(f.root.names), len(f.types)-1)
	}
	columns := make([]column, len(f.root.types))
	for i, name := range f.root.names {
		id := f.root.types[i]
		if id == 0 || id >= uint64(len(f.types)) {
			return nil, fmt.Errorf("column %q has the type %d: want 1 to %d", name, id, len(f.types)-1)
		}
		t := f.types[id]
		//nolint:gosec // It is less than the number of types.
		columns[i] = column{id: int(id), kind: t.kind, Column: format.Column{Name: name}}
		if err := t.describe(&columns[i].Column); err != nil {
			return nil, fmt.Errorf("column %q is a %w", name, err)
		}
	}
	return columns, nil
}

// describe sets the type of a column.
func (t schemaType) describe(c *format.Column) error {
	switch t.kind {
	case kindBoolean:
		c.Type = format.Bool
	case kindByte, kindShort, kindInt, kindLong:
		c.Type = format.Integer
	case kindFloat, kindDouble:
		c.Type = format.Float
	case kindString, kindVarchar, kindChar:
		c.Type = format.Text
	case kindTimestamp, kindInstant:
		c.Type = format.Time
	case kindDate:
		c.Type = format.Day
	case kindDecimal:
		if t.precision == 0 || t.precision > precisionMax || t.scale > min(t.precision, scaleMax) {
			return fmt.Errorf("decimal(%d, %d): want 1 to %d digits, at most %d of them after the point", t.precision,
				t.scale, precisionMax, scaleMax)
		}
		c.Type, c.Scale = format.Decimal, int(t.scale) //nolint:gosec // It is at most scaleMax.
	default:
		return fmt.Errorf("%s: want a number, boolean, string, varchar, char, date or timestamp", t.kind)
	}
	return nil
}
