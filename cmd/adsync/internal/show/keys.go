package show

import (
	"io"
	"maps"
	"slices"
)

// key is a key with the number of texts that are sealed with it.
type key struct {
	id, note string
	texts    int
}

// Keys prints the configured keys, the first of which seals, and the number of texts that the tables hold sealed with each key.
func Keys(w io.Writer, configured []string, texts map[string]int) error {
	var rows []key
	for i, id := range configured {
		note := "may be removed when all processes have the first one"
		switch {
		case i == 0:
			note = "seals"
		case texts[id] > 0:
			note = "opens: adsync keys reseal"
		}
		rows = append(rows, key{id, note, texts[id]})
	}
	for _, id := range slices.Sorted(maps.Keys(texts)) {
		if !slices.Contains(configured, id) {
			rows = append(rows, key{id, "missing: nothing opens these", texts[id]})
		}
	}
	return columns[key]{
		{"KEY", func(k *key) any { return k.id }},
		{"SEALED WITH IT", func(k *key) any { return k.texts }},
		{"NOTE", func(k *key) any { return k.note }},
	}.print(w, rows)
}
