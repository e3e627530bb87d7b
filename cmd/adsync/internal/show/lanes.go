package show

import (
	"fmt"
	"io"
	"strings"

	"adsync/client"
	"adsync/cmd/adsync/internal/table"
)

// Lanes prints lanes.
var Lanes = List[client.Lane]{
	Rows: "lanes",
	none: "There are no lanes.",
	columns: columns[client.Lane]{
		{"LANE", func(l *client.Lane) any { return laneName(l) }},
		{"POOL SIZE", func(l *client.Lane) any { return l.PoolSize }},
		{"WORKERS MAX", func(l *client.Lane) any { return limitOrNone(l.WorkersMax) }},
		{"PARTITIONS", func(l *client.Lane) any { return orDefault(l.Partitions) }},
		{"BACKLOG MAX", func(l *client.Lane) any { return l.InForce.BacklogMax }},
		{"LATE AFTER", func(l *client.Lane) any { return table.Seconds(&l.InForce.LateSeconds) }},
		{"IMPORTANCE", func(l *client.Lane) any { return l.InForce.Importance }},
		{"TASKS", func(l *client.Lane) any { return len(l.Tasks) }},
	},
}

// Lane prints a lane with the tasks that travel on it.
func Lane(w io.Writer, l *client.Lane) error {
	t := table.New(w)
	t.Pairs("lane", laneName(l), "pool size", l.PoolSize, "workers max", limitOrNone(l.WorkersMax), "partitions",
		orDefault(l.Partitions), "backlog max", ofDefault(l.BacklogMax, fmt.Sprint(l.InForce.BacklogMax)),
		"late after", ofDefault(l.LateSeconds, table.Seconds(&l.InForce.LateSeconds)), "importance",
		ofDefault(l.Importance, fmt.Sprint(l.InForce.Importance)),
		"tasks", table.Whole(strings.Join(l.Tasks, ", ")))
	return t.Flush()
}

// DeletedLane prints a lane that was deleted.
func DeletedLane(w io.Writer, l *client.Lane) error {
	_, err := fmt.Fprintf(w, "Deleted the lane %s, whose pool size was %d. Its topic stays.\n",
		table.Plain(laneName(l)), l.PoolSize)
	return err
}

// laneName is a lane as commands take it.
func laneName(l *client.Lane) string {
	if l.Media == "*" {
		return l.Name
	}
	return l.Media + ":" + l.Name
}

// limitOrNone is a limit of a row in which 0 is none.
func limitOrNone(n int64) string {
	if n == 0 {
		return "none"
	}
	return fmt.Sprint(n)
}

// orDefault is a number of a row in which 0 is the default.
func orDefault(n int64) string { return ofDefault(n, fmt.Sprint(n)) }

// ofDefault is what holds, with a mark where the row has 0.
func ofDefault(n int64, holds string) string {
	switch {
	case n != 0:
		return holds
	case holds == "0":
		return "default"
	}
	return holds + " (default)"
}
