package show

import (
	"strings"

	"adsync/client"
	"adsync/cmd/adsync/internal/table"
)

// Kinds prints kinds of work.
var Kinds = List[client.Kind]{
	Rows: "kinds",
	none: "There are no such kinds of work.",
	columns: columns[client.Kind]{
		{"KIND", func(k *client.Kind) any { return k.Name }},
		{"SUBTASKS FOR", func(k *client.Kind) any { return k.Target }},
		{"TASKS", func(k *client.Kind) any { return len(k.Tasks) }},
		{"CONSUMERS", func(k *client.Kind) any { return len(k.ServedBy) }},
		{"DONE BY NOBODY", func(k *client.Kind) any {
			var names []string
			for _, t := range k.Tasks {
				if len(t.ServedBy) == 0 {
					names = append(names, t.Name)
				}
			}
			return table.Whole(strings.Join(names, ", "))
		}},
	},
}
