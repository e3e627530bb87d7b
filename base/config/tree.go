package config

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

type kind int

const (
	section kind = iota // a struct: a mapping of known keys
	list                // a slice
	dict                // a map from names to values
	leaf                // anything that is written as one scalar
)

// node is a setting, or a section of settings, that a struct declares.
type node struct {
	path     string // "store.config.writer"; the elements of a list are "api.tokens[]", those of a map "pools.*"
	name     string
	doc      string
	kind     kind
	typ      reflect.Type
	value    reflect.Value // the field itself; invalid for the elements of lists and maps
	children []*node       // of a section, in the order of declaration
	elem     *node         // of a list or a map
}

var (
	durationType    = reflect.TypeFor[time.Duration]()
	secretType      = reflect.TypeFor[interface{ Reveal() string }]() // secret.Text, whose package imports this one
	unmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// newTree reads the settings that the struct behind the pointer declares. An error is a mistake of the program.
func newTree(into any) (*node, error) {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("settings are %T: want a pointer to a struct", into)
	}
	root := &node{kind: section, typ: v.Type().Elem(), value: v.Elem()}
	if err := root.grow(); err != nil {
		return nil, err
	}
	seen := map[string]string{}
	for _, n := range root.settings() {
		if other, ok := seen[n.env()]; ok {
			return nil, fmt.Errorf("settings %s and %s would share the environment variable %s", other, n.path, n.env())
		}
		seen[n.env()] = n.path
	}
	return root, nil
}

// grow determines the kind of the setting n and adds what is below it.
func (n *node) grow() error {
	switch {
	case reflect.PointerTo(n.typ).Implements(unmarshalerType) || n.typ == durationType:
		n.kind = leaf
		return nil
	case n.typ.Kind() == reflect.Struct:
		n.kind = section
		return n.addFields(n.typ, n.value)
	case n.typ.Kind() == reflect.Slice:
		n.kind = list
		n.elem = &node{path: n.path + "[]", typ: n.typ.Elem()}
		return n.elem.grow()
	case n.typ.Kind() == reflect.Map && n.typ.Key().Kind() == reflect.String:
		n.kind = dict
		n.elem = &node{path: n.path + ".*", typ: n.typ.Elem()}
		return n.elem.grow()
	}
	if wantOf(n.typ) == "" {
		return fmt.Errorf("setting %s has the type %s, which has no text form", n.path, n.typ)
	}
	n.kind = leaf
	return nil
}

func (n *node) addFields(typ reflect.Type, value reflect.Value) error {
	for i := range typ.NumField() {
		f := typ.Field(i)
		tag, options := cutTag(f)
		var v reflect.Value
		if value.IsValid() {
			v = value.Field(i)
		}
		if options == "squash" {
			if err := n.addFields(f.Type, v); err != nil {
				return err
			}
			continue
		}
		if tag == "" || tag == "-" || !f.IsExported() {
			continue
		}
		child := &node{path: joinKey(n.path, tag), name: tag, doc: f.Tag.Get("doc"), typ: f.Type, value: v}
		if err := child.grow(); err != nil {
			return err
		}
		n.children = append(n.children, child)
	}
	return nil
}

// cutTag returns the name and the option in a field's tag.
func cutTag(f reflect.StructField) (name, option string) {
	name, option, _ = strings.Cut(f.Tag.Get("koanf"), ",")
	return name, option
}

// settings returns everything below n that is set as one value: leaves, lists and maps.
func (n *node) settings() []*node {
	if n.kind != section {
		return []*node{n}
	}
	var all []*node
	for _, c := range n.children {
		all = append(all, c.settings()...)
	}
	return all
}

func (n *node) child(name string) *node {
	i := slices.IndexFunc(n.children, func(c *node) bool { return c.name == name })
	if i < 0 {
		return nil
	}
	return n.children[i]
}

func (n *node) childNames() []string {
	names := make([]string, 0, len(n.children))
	for _, c := range n.children {
		names = append(names, c.name)
	}
	return names
}

// find returns the setting that a full key such as "api.tokens[1].role" belongs to, or nil.
func (n *node) find(key string) *node {
	for key != "" && n != nil {
		switch {
		case strings.HasPrefix(key, "["):
			_, rest, _ := strings.Cut(key, "]")
			n, key = n.elem, strings.TrimPrefix(rest, ".")
		case n.kind == dict:
			_, key, _ = strings.Cut(key, ".")
			n = n.elem
		default:
			end := strings.IndexAny(key, ".[")
			if end < 0 {
				end = len(key)
			}
			n, key = n.child(key[:end]), strings.TrimPrefix(key[end:], ".")
		}
	}
	return n
}

// env returns the name of the environment variable that sets n.
func (n *node) env() string {
	return EnvPrefix + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(n.path))
}

// holdsSecret reports whether the setting or a part of it is a secret.
func (n *node) holdsSecret() bool {
	return n.hidden() || n.elem != nil && n.elem.holdsSecret() ||
		slices.ContainsFunc(n.children, func(child *node) bool { return child.holdsSecret() })
}

// hidden reports whether the values of n are secrets.
func (n *node) hidden() bool { return n.typ.Implements(secretType) }
