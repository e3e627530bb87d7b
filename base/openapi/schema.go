package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"adsync/client"
)

// Schema says what a value of a request may be. That an object has no other fields than these is left to who decodes
// it.
type Schema struct {
	Ref        string    `yaml:"$ref"`
	AllOf      []*Schema `yaml:"allOf"`
	Type       types     `yaml:"type"`
	Enum       []string  `yaml:"enum"`
	Format     string    `yaml:"format"` // date or date-time
	Pattern    string    `yaml:"pattern"`
	MinLength  int       `yaml:"minLength"` // 0 or 1; a text of blanks is as good as none
	MaxLength  int       `yaml:"maxLength"` // in characters; 0 = any number
	MinItems   int       `yaml:"minItems"`  // 0 or 1
	MaxItems   int       `yaml:"maxItems"`
	Minimum    *int64    `yaml:"minimum"`
	Maximum    *int64    `yaml:"maximum"`
	Default    string    `yaml:"default"`
	Required   []string  `yaml:"required"`
	Properties fields    `yaml:"properties"`
	Items      *Schema   `yaml:"items"`
	// Want is what an error says would be right, where it is more than the rest of the schema says. It continues "want".
	Want string `yaml:"x-want"`

	Others map[string]yaml.Node `yaml:",inline"`

	target  *Schema // what Ref stands for
	pattern *regexp.Regexp
}

// types are the names of one type or of several.
type types []string

// UnmarshalYAML implements yaml.Unmarshaler.
func (t *types) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		*t = types{node.Value}
		return nil
	}
	return node.Decode((*[]string)(t))
}

// fields are the properties of an object in their order.
type fields []field

type field struct {
	name   string
	schema *Schema
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (f *fields) UnmarshalYAML(node *yaml.Node) error {
	for i := 0; i+1 < len(node.Content); i += 2 {
		s := new(Schema)
		if err := node.Content[i+1].Decode(s); err != nil {
			return err
		}
		*f = append(*f, field{node.Content[i].Value, s})
	}
	return nil
}

// uncheckedWords are the words of a schema that say nothing of a value, or that the decoder of a body checks.
var uncheckedWords = []string{"additionalProperties", "deprecated", "description", "writeOnly"}

// link finds what references stand for, and refuses what Faults would not check.
func (s *Schema) link(all map[string]*Schema) (err error) {
	for word := range s.Others {
		if !strings.HasPrefix(word, "x-") && !slices.Contains(uncheckedWords, word) {
			return fmt.Errorf("the server does not check %q: add it to base/openapi", word)
		}
	}
	if s.Ref != "" {
		if s.target = all[strings.TrimPrefix(s.Ref, "#/components/schemas/")]; s.target == nil {
			return fmt.Errorf("there is no %s", s.Ref)
		}
		return s.target.link(all)
	}
	if len(s.Type) == 0 && len(s.AllOf) != 1 {
		return errors.New("a schema has no type")
	}
	if s.Pattern != "" {
		if s.pattern, err = regexp.Compile(s.Pattern); err != nil {
			return err
		}
	}
	below := slices.Clone(s.AllOf)
	if s.Items != nil {
		below = append(below, s.Items)
	}
	for _, f := range s.Properties {
		below = append(below, f.schema)
	}
	for _, part := range below {
		if err := part.link(all); err != nil {
			return err
		}
	}
	return nil
}

// whole is the schema that a reference, or an allOf of one schema, stands for.
func (s *Schema) whole() *Schema {
	switch {
	case s.target != nil:
		return s.target.whole()
	case len(s.AllOf) != 1:
		return s
	}
	w := *s.AllOf[0].whole()
	if s.Want != "" {
		w.Want = s.Want
	}
	return &w
}

// Faults returns what is wrong with the fields of an object, which was decoded from JSON with its numbers as
// json.Number.
func (s *Schema) Faults(object map[string]any) (faults []client.FieldError) {
	s = s.whole()
	for _, f := range s.Properties {
		required := slices.Contains(s.Required, f.name)
		value, given := object[f.name]
		detail := ""
		switch {
		case given:
			detail = f.schema.fault(value, required)
		case required:
			detail = f.schema.missing()
		}
		if detail != "" {
			faults = append(faults, client.FieldError{Field: f.name, Detail: detail})
		}
	}
	return faults
}

// Fault returns what is wrong with the text of a parameter; "" if nothing is.
func (p *Parameter) Fault(text string, given bool) string {
	s := p.Schema.whole()
	switch {
	case !given && p.Required:
		return s.missing()
	case !given:
		return ""
	case s.Items == nil:
		return s.fault(text, p.Required)
	case strings.TrimSpace(text) == "":
		return "is empty: want a value, or leave it out"
	}
	for part := range strings.SplitSeq(text, ",") {
		if fault := s.Items.fault(part, true); fault != "" {
			return fault + ", or several with commas between them"
		}
	}
	return ""
}

// Fallback is the value of a parameter that is left out; "" if there is none.
func (s *Schema) Fallback() string { return s.whole().Default }

// fault returns what is wrong with a value; "" if nothing is. Its text continues a sentence that begins with the
// field's name.
func (s *Schema) fault(value any, required bool) string {
	s = s.whole()
	if !s.isTyped(value) {
		return "is of a wrong type: want " + typeNames[s.Type[0]]
	}
	switch v := value.(type) {
	case string:
		if s.isEmpty(v) {
			if required {
				return s.missing()
			}
			return "is empty: want a value, or leave it out"
		}
		if slices.Contains(s.Type, "integer") && s.outside(v) || slices.Contains(s.Type, "string") && !s.takes(v) {
			return fmt.Sprintf("%q is refused: want %s", v, s.want())
		}
		if n := utf8.RuneCountInString(v); s.MaxLength > 0 && n > s.MaxLength {
			return fmt.Sprintf("has %d characters: want up to %d", n, s.MaxLength)
		}
	case json.Number:
		if s.outside(v.String()) {
			return fmt.Sprintf("%s is refused: want %s", v, s.want())
		}
	case []any:
		if len(v) < s.MinItems {
			return "is empty: want a value, or leave it out"
		}
		if s.MaxItems > 0 && len(v) > s.MaxItems {
			return fmt.Sprintf("%d are too many: want %s", len(v), s.want())
		}
		for i, item := range v {
			if fault := s.Items.fault(item, true); fault != "" {
				return fmt.Sprintf("item %d %s", i+1, fault)
			}
		}
	}
	return ""
}

// typeNames are the types of JSON as errors name them.
var typeNames = map[string]string{
	"string": "a string", "integer": "a number", "number": "a number", "boolean": "true or false", "array": "a list",
	"object": "an object",
}

// isTyped reports whether a value has a type of the schema. The text of a parameter may be a number,
// or a truth value.
func (s *Schema) isTyped(value any) bool {
	kinds := []string{"null"}
	switch v := value.(type) {
	case string:
		kinds = []string{"string", "integer"}
		if v == "true" || v == "false" {
			kinds = append(kinds, "boolean")
		}
	case json.Number:
		kinds = []string{"integer", "number"}
	case bool:
		kinds = []string{"boolean"}
	case []any:
		kinds = []string{"array"}
	case map[string]any:
		kinds = []string{"object"}
	}
	return slices.ContainsFunc(kinds, func(kind string) bool { return slices.Contains(s.Type, kind) })
}

// isEmpty reports whether a text is one of blanks where there must be something.
func (s *Schema) isEmpty(text string) bool {
	chooses := s.MinLength+len(s.Enum) > 0 || s.Format+s.Pattern != "" || slices.Contains(s.Type, "integer")
	return chooses && strings.TrimSpace(text) == ""
}

// takes reports whether a text, of whatever length, is one that the schema takes.
func (s *Schema) takes(text string) bool {
	var err error
	switch s.Format {
	case "date":
		_, err = time.Parse(time.DateOnly, text)
	case "date-time":
		_, err = ParseTime(text)
	}
	named := len(s.Enum) == 0 || slices.Contains(s.Enum, text)
	return err == nil && named && (s.pattern == nil || s.pattern.MatchString(text))
}

// outside reports whether a text is no whole number, or one that is too small or too large.
func (s *Schema) outside(text string) bool {
	if !slices.Contains(s.Type, "integer") {
		return false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return err != nil || s.Minimum != nil && n < *s.Minimum || s.Maximum != nil && n > *s.Maximum
}

func (s *Schema) missing() string { return "is missing: want " + s.whole().want() }

// want says what would be right.
func (s *Schema) want() string {
	switch {
	case s.Want != "":
		return s.Want
	case len(s.Enum) > 1:
		return "one of " + strings.Join(s.Enum, ", ")
	case len(s.Enum) == 1:
		return s.Enum[0]
	case s.Format == "date":
		return "a day such as 2026-11-21"
	case s.Format == "date-time":
		return "a time such as 2026-11-21T10:30:00Z"
	case s.MaxItems > 0:
		return fmt.Sprintf("up to %d", s.MaxItems)
	case s.Pattern != "":
		return "text of the form " + s.Pattern
	case slices.Contains(s.Type, "integer"):
		return s.wantNumber()
	}
	return "a value"
}

func (s *Schema) wantNumber() string {
	want := "a whole number"
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		want = fmt.Sprintf("%d to %d", *s.Minimum, *s.Maximum)
	case s.Minimum != nil:
		want = fmt.Sprintf("%d or more", *s.Minimum)
	case s.Maximum != nil:
		want = fmt.Sprintf("a whole number up to %d", *s.Maximum)
	}
	return want
}

// ParseTime reads a time in the form of RFC 3339 that a database can hold and that is not zero, in UTC and whole
// milliseconds.
func ParseTime(text string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err == nil && !IsMoment(at.UnixMilli()) {
		err = fmt.Errorf("%s is no time that a database can hold", text)
	}
	return at.UTC().Truncate(time.Millisecond), err
}

// IsMoment reports whether milliseconds are a time that a database can hold, and that is not zero.
func IsMoment(milliseconds int64) bool {
	return milliseconds > 0 && milliseconds < time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
}
