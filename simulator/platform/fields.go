package platform

import (
	"slices"

	"adsync/simulator/world"
)

// Field is a field of an object, with its name.
type Field[T any] struct {
	Name  string
	Write Write[T]
}

// NewField returns a field.
func NewField[T any](name string, write Write[T]) Field[T] { return Field[T]{name, write} }

// Constant returns a field with the same JSON for every object.
func Constant[T any](name, json string) Field[T] { return Field[T]{name, Fixed[T](json)} }

// WriteFields writes all fields of an object. asText writes those that are numbers as texts.
func WriteFields[T any](c *Call, w *Writer, fields []Field[T], x T, asText bool) {
	for _, f := range fields {
		w.Key(f.Name)
		w.Value(asText && c.IsNumber(f.Name), func() { f.Write(w, x) })
	}
}

// WriteFile writes the fields of a file of a library. A trap leaves some out.
func WriteFile[T any](c *Call, w *Writer, fields []Field[T], x T, file *world.Asset) {
	c.CountFile(file)
	for _, f := range fields {
		if !c.LeavesOut(w, f.Name, file) {
			w.Key(f.Name)
			f.Write(w, x)
		}
	}
}

// Chosen returns the fields that a parameter lists, in their own order. There must be at least one.
func Chosen[T any](p *Params, name string, all []Field[T]) []Field[T] {
	names := make([]string, len(all))
	for i, f := range all {
		names[i] = f.Name
	}
	given := p.TextsOf(name, names...)
	if len(given) == 0 {
		p.fail("%s has some of %v", name, names)
	}
	return slices.DeleteFunc(slices.Clone(all), func(f Field[T]) bool { return !slices.Contains(given, f.Name) })
}
