package platform

import "adsync/simulator/world"

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
