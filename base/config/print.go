package config

import (
	"fmt"
	"io"
	"reflect"
	"slices"

	"gopkg.in/yaml.v3"
)

// Print writes the settings behind the pointer as YAML that could be loaded again, except for secrets, also in
// addresses, which are written as "<secret>". Settings without their default value carry a comment that names their
// source.
func Print(w io.Writer, from any, sources *Sources) error {
	root, err := newTree(from)
	if err != nil {
		return err
	}
	encoder := yaml.NewEncoder(w)
	encoder.SetIndent(2)
	if err := encoder.Encode(render(root, root.value, sources)); err != nil {
		return fmt.Errorf("print settings: %w", err)
	}
	return encoder.Close()
}

func render(n *node, v reflect.Value, sources *Sources) *yaml.Node {
	switch n.kind {
	case section:
		y := &yaml.Node{Kind: yaml.MappingNode}
		for _, c := range n.children {
			name := &yaml.Node{Kind: yaml.ScalarNode, Value: c.name}
			value := render(c, fieldOf(n, v, c), sources)
			if c.kind != section && c.value.IsValid() {
				if origin := sources.Of(c.path); origin != "default" {
					comment(name, value, origin)
				}
			}
			y.Content = append(y.Content, name, value)
		}
		return y
	case list:
		y := &yaml.Node{Kind: yaml.SequenceNode}
		if n.elem.kind == leaf {
			y.Style = yaml.FlowStyle
		}
		for i := range v.Len() {
			y.Content = append(y.Content, render(n.elem, v.Index(i), sources))
		}
		return y
	case dict:
		y := &yaml.Node{Kind: yaml.MappingNode}
		for _, key := range sortedKeys(v) {
			y.Content = append(y.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key},
				render(n.elem, v.MapIndex(reflect.ValueOf(key).Convert(v.Type().Key())), sources))
		}
		return y
	default:
		y := &yaml.Node{Kind: yaml.ScalarNode, Value: Redacted(format(v))}
		if n.typ.Kind() == reflect.String || y.Value == "" || n.hidden() {
			y.Tag = "!!str" // The encoder adds the quotes that keep "0123" a text.
		}
		return y
	}
}

// comment adds the origin after a scalar, and above a value of several lines.
func comment(name, value *yaml.Node, origin string) {
	if value.Kind == yaml.ScalarNode || value.Style == yaml.FlowStyle {
		value.LineComment = origin
		return
	}
	name.HeadComment = origin
}

// fieldOf returns the value of a section's child. Below lists and maps the tree has no values of its own.
func fieldOf(parent *node, v reflect.Value, child *node) reflect.Value {
	if child.value.IsValid() {
		return child.value
	}
	for _, f := range reflect.VisibleFields(parent.typ) {
		if tag, _ := cutTag(f); tag == child.name {
			return v.FieldByIndex(f.Index)
		}
	}
	return reflect.Zero(child.typ)
}

func sortedKeys(m reflect.Value) []string {
	var keys []string
	for _, k := range m.MapKeys() {
		keys = append(keys, k.String())
	}
	slices.Sort(keys)
	return keys
}
