package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// layer reads one source of settings. It keeps what fits the tree and reports the rest.
type layer struct {
	origin   func(line int) string // where a value of this source was written
	origins  map[string]string     // by full key
	removed  map[string]string     // of Options
	problems []Problem
}

func (l *layer) refuse(key, value string, line int, format string, args ...any) {
	l.problems = append(l.problems, Problem{Key: key, Value: value, Origin: l.origin(line),
		Message: fmt.Sprintf(format, args...)})
}

// take returns the values of y for the setting n, whose full key is key, in the form that koanf merges:
// map[string]any, []any and scalars. It returns nil for refused and for empty values, which leave the setting
// unchanged.
func (l *layer) take(n *node, key string, y *yaml.Node) any {
	if y.Kind == yaml.AliasNode {
		y = y.Alias
	}
	if y.Kind == yaml.ScalarNode && y.Tag == "!!null" {
		if y.Value != "" { // An explicit null seems to remove a value, and would change nothing.
			l.refuse(key, "", y.Line, "is null: want a value, or leave the key out")
		}
		return nil
	}
	if n.kind != section || !n.value.IsValid() {
		// The origin of a section does not apply to those of its keys that are not set.
		l.origins[key] = l.origin(y.Line)
	}
	switch n.kind {
	case section, dict:
		return l.takeMapping(n, key, y)
	case list:
		return l.takeList(n, key, y)
	default:
		return l.takeScalar(n, key, y)
	}
}

func (l *layer) takeMapping(n *node, key string, y *yaml.Node) any {
	if y.Kind != yaml.MappingNode {
		if n.kind == dict {
			l.refuse(key, "", y.Line, "want a section of names and values")
		} else {
			l.refuse(key, "", y.Line, "want a section with the keys %s", strings.Join(n.childNames(), ", "))
		}
		return nil
	}
	taken := map[string]any{}
	lines := map[string]int{}
	for i := 0; i+1 < len(y.Content); i += 2 {
		name, value := y.Content[i], y.Content[i+1]
		if name.Tag == "!!merge" {
			l.refuse(key, "", name.Line, "YAML's merge key << is not read: write the keys out")
			continue
		}
		full := joinKey(key, name.Value)
		if first, ok := lines[name.Value]; ok {
			l.refuse(full, "", name.Line, "is given twice, first in line %d", first)
			continue
		}
		lines[name.Value] = name.Line
		child := n.elem
		if n.kind == section {
			child = n.child(name.Value)
		}
		if child == nil {
			// The value of an unknown key is not shown: it may be a secret under a misspelt name.
			l.refuse(full, "", name.Line, "there is no such setting%s", cmp.Or(l.instead(full), l.hint(n, name.Value)))
			continue
		}
		if v := l.take(child, full, value); v != nil {
			taken[name.Value] = v
		}
	}
	return taken
}

// instead returns what replaces the section of a key, as the end of a message; "" for a section that never was.
func (l *layer) instead(key string) string {
	section, _, _ := strings.Cut(key, ".")
	if text := l.removed[section]; text != "" {
		return " any more: " + text
	}
	return ""
}

func (l *layer) hint(n *node, name string) string {
	if near := closest(name, n.childNames()); near != "" {
		return "; did you mean " + joinKey(n.path, near) + "?"
	}
	return "; the keys here are " + strings.Join(n.childNames(), ", ")
}

func (l *layer) takeList(n *node, key string, y *yaml.Node) any {
	if y.Kind != yaml.SequenceNode {
		l.refuse(key, "", y.Line, "want a list")
		return nil
	}
	taken := make([]any, 0, len(y.Content))
	for i, item := range y.Content {
		if item.Kind == yaml.ScalarNode && item.Tag == "!!null" && item.Value == "" {
			l.refuse(fmt.Sprintf("%s[%d]", key, i), "", item.Line, "is empty: want a value, or leave the item out")
			continue
		}
		if v := l.take(n.elem, fmt.Sprintf("%s[%d]", key, i), item); v != nil {
			taken = append(taken, v)
		}
	}
	return taken
}

func (l *layer) takeScalar(n *node, key string, y *yaml.Node) any {
	if y.Kind != yaml.ScalarNode {
		l.refuse(key, "", y.Line, "want %s, not a list or a section", wantOf(n.typ))
		return nil
	}
	if n.hidden() && y.Value == "<secret>" {
		// The text that Print writes would otherwise be taken for the secret itself, and fail much later and elsewhere.
		l.refuse(key, "", y.Line, "want the secret itself: <secret> only stands for one that was not printed")
		return nil
	}
	v, err := parse(y.Value, n.typ)
	if err != nil {
		shown, message := y.Value, err.Error()
		if n.hidden() {
			shown, message = "<secret>", "want "+wantOf(n.typ)
		}
		l.refuse(key, shown, y.Line, "%s", message)
		return nil
	}
	return v
}

// takeText reads a setting from a variable or a flag: a scalar verbatim, a list of scalars separated by commas, and
// anything else in YAML's flow style, which includes JSON.
func (l *layer) takeText(n *node, text string) any {
	if n.kind == leaf {
		return l.take(n, n.path, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text})
	}
	if n.kind == list && n.elem.kind == leaf && !strings.HasPrefix(strings.TrimSpace(text), "[") {
		items := &yaml.Node{Kind: yaml.SequenceNode}
		for item := range strings.SplitSeq(text, ",") {
			items.Content = append(items.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str",
				Value: strings.TrimSpace(item)})
		}
		return l.take(n, n.path, items)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil || len(doc.Content) == 0 {
		// The parser's own text may quote the value, and the value may contain secrets.
		l.refuse(n.path, "", 0, "want a value in YAML or JSON, such as %s", flowExample(n))
		return nil
	}
	return l.take(n, n.path, doc.Content[0])
}

// flowExample shows how a structured setting is written on one line.
func flowExample(n *node) string {
	switch n.kind {
	case list:
		return "[" + flowExample(n.elem) + "]"
	case dict:
		return "{name: " + flowExample(n.elem) + "}"
	case section:
		var parts []string
		for _, c := range n.children {
			parts = append(parts, c.name+": "+flowExample(c))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	default:
		return "…"
	}
}

// put stores a value under a dotted path of section names.
func put(into map[string]any, path string, value any) {
	names := strings.Split(path, ".")
	for _, name := range names[:len(names)-1] {
		next, ok := into[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			into[name] = next
		}
		into = next
	}
	into[names[len(names)-1]] = value
}

// envVars returns the variables that begin with the prefix, sorted by name, without the empty ones. An empty variable
// counts as unset, because deployment files that pass optional values produce such variables.
func envVars(environ []string) ([]string, map[string]string) {
	vars := map[string]string{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, EnvPrefix) && value != "" {
			vars[name] = value
		}
	}
	return slices.Sorted(maps.Keys(vars)), vars
}
