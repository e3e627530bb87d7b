package show

import (
	"io"
	"maps"
	"slices"
)

// key is a key with the number of texts that it encrypts.
type key struct {
	id, note string
	texts    int
}

// Keys prints the configured keys and the keys of the tables, with the number of texts that each encrypts. The first
// configured key encrypts new texts.
func Keys(w io.Writer, configured []string, texts map[string]int) error {
	var rows []key
	for i, id := range configured {
		note := "may be removed when all processes have the first one"
		switch {
		case i == 0:
			note = "encrypts new texts"
		case texts[id] > 0:
			note = "decrypts: adsync keys reseal"
		}
		rows = append(rows, key{id, note, texts[id]})
	}
	for _, id := range slices.Sorted(maps.Keys(texts)) {
		if !slices.Contains(configured, id) {
			rows = append(rows, key{id, "missing: no key decrypts these", texts[id]})
		}
	}
	return columns[key]{
		{"KEY", func(k *key) any { return k.id }},
		{"TEXTS", func(k *key) any { return k.texts }},
		{"NOTE", func(k *key) any { return k.note }},
	}.print(w, rows)
}
