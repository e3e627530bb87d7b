package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode/utf8"
)

// referenceWidth is the longest line of the reference.
const referenceWidth = 120

// Reference writes a Markdown page of every setting below the pointer to the defaults: key, type, default and meaning.
// A setting without a doc tag is an error, so that all are documented.
func Reference(w io.Writer, defaults any) error {
	root, err := newTree(defaults)
	if err != nil {
		return err
	}
	r := &reference{}
	r.line("# Configuration")
	r.line("")
	r.line("<!-- Written by `adsync config reference`: change the `doc` tags in the code, then run `make generate`. -->")
	r.line("")
	r.fill("", "Settings come from the defaults below, the YAML file (`--config FILE` or `"+EnvPrefix+"CONFIG`), the "+
		"environment and the command line (`--set key=value`). Each source replaces values of the one before. Unknown keys "+
		"and variables are refused, and `adsync config check` reports every mistake at once. An empty value or variable "+
		"leaves the setting unchanged. A list replaces the default as a whole.")
	r.line("")
	r.fill("", "The environment variable of a setting is `"+EnvPrefix+"` and its key in capitals, with `_` for each dot: "+
		"`"+EnvPrefix+"API_LISTEN` is for `api.listen`. Items of lists (`[]`) and maps have none: the whole list or map has "+
		"one. In it, items of a simple list are separated by commas, and any other list or map is written in JSON or in "+
		"YAML's flow style. Durations are written as `500ms`, `10s`, `15m` or `72h`. Secrets are never printed.")
	for _, top := range root.children {
		r.section(top)
	}
	if len(r.undocumented) > 0 {
		return errors.Join(r.undocumented...)
	}
	_, err = w.Write(r.page.Bytes())
	return err
}

type reference struct {
	page         bytes.Buffer
	undocumented []error
}

func (r *reference) line(format string, args ...any) {
	fmt.Fprintf(&r.page, format+"\n", args...)
}

func (r *reference) section(top *node) {
	r.line("")
	r.line("## %s", top.name)
	r.line("")
	r.fill("", r.doc(top))
	r.line("")
	r.rows(top)
}

func (r *reference) rows(n *node) {
	switch n.kind {
	case section:
		for _, c := range n.children {
			r.rows(c)
		}
		return
	case leaf:
		value := "`" + format(orZero(n)) + "`"
		if n.hidden() && value != "``" {
			value = "not shown"
		}
		r.row(n, value)
	default:
		r.row(n, summary(n))
		if n.elem.kind == section {
			r.rows(n.elem)
		}
	}
}

func (r *reference) row(n *node, defaultValue string) {
	about := typeName(n)
	if defaultValue != "``" && defaultValue != "" && n.value.IsValid() {
		about += ", " + defaultValue
	}
	r.fill("  ", "- `"+n.path+"` ("+about+"): "+r.doc(n))
}

// fill writes a paragraph or an item with lines that end before referenceWidth; all lines but the first are indented.
func (r *reference) fill(indent, text string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line+" "+word) > referenceWidth:
			r.line("%s", line)
			line = indent + word
		default:
			line += " " + word
		}
	}
	r.line("%s", line)
}

func (r *reference) doc(n *node) string {
	if n.doc == "" {
		r.undocumented = append(r.undocumented, fmt.Errorf("setting %s has no doc tag", n.path))
	}
	return n.doc
}

func orZero(n *node) reflect.Value {
	if n.value.IsValid() {
		return n.value
	}
	return reflect.Zero(n.typ)
}

// summary returns the default of a list or map in one line.
func summary(n *node) string {
	if !n.value.IsValid() || n.value.Len() == 0 {
		return ""
	}
	if n.kind == list && n.elem.kind == leaf {
		var items []string
		for i := range n.value.Len() {
			items = append(items, format(n.value.Index(i)))
		}
		return "`" + strings.Join(items, ",") + "`"
	}
	return "see `adsync config print`"
}

func typeName(n *node) string {
	switch {
	case n.kind == list && n.elem.kind == section:
		return "list of sections"
	case n.kind == list:
		return "list of " + typeName(n.elem)
	case n.kind == dict && n.elem.kind == section:
		return "map of sections"
	case n.kind == dict:
		return "map of " + typeName(n.elem)
	case n.hidden():
		return "secret"
	case n.typ == durationType:
		return "duration"
	}
	switch n.typ.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if reflect.PointerTo(n.typ).Implements(unmarshalerType) {
			return "text"
		}
		return "number"
	case reflect.Float32, reflect.Float64:
		return "number"
	default:
		return "text"
	}
}
