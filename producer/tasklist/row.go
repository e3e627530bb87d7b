package tasklist

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"adsync/base/config"
	"adsync/base/schedule"
	"adsync/base/store/settings"
	"adsync/base/task"
	"adsync/media"
)

// systemMedia is the media name of adsync's own tasks; they may also work for a platform.
const systemMedia = "system"

var (
	taskName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,95}$`)
	laneName  = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)
	tierWords = []string{"active", "inactive", "invalid"}
)

// Task is a valid row, ready to run.
type Task struct {
	task.Task
	Schedule     schedule.Schedule // has no moments if the task starts after others
	Predecessors []int64           // the ids of those
}

// equal reports whether a task equals before; nil means that there was none.
func (t *Task) equal(before *Task) bool {
	return before != nil && reflect.DeepEqual(before.Task, t.Task) && slices.Equal(before.Predecessors, t.Predecessors)
}

// ScheduleHash returns a hash that changes with the task's cron, zone or predecessors.
func (t *Task) ScheduleHash() string {
	text := fmt.Sprintf("%s\n%s\n%t", t.Cron, t.Timezone, t.Enabled)
	if schedule.Spreads(t.Cron) {
		text += "\n" + t.Name
	}
	if len(t.Predecessors) > 0 {
		text += fmt.Sprintf("\nafter %d", slices.Sorted(slices.Values(t.Predecessors)))
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// checker reads the fields of a row and collects their errors.
type checker struct {
	errs []*config.FieldError
}

func (c *checker) refuse(key, value, want string) {
	c.errs = append(c.errs, &config.FieldError{Key: key, Value: value, Want: want})
}

func (c *checker) number(key, value string, low, high int) int {
	n, err := strconv.Atoi(value)
	if err != nil || n < low || n > high {
		c.refuse(key, value, fmt.Sprintf("a whole number from %d to %d", low, high))
	}
	return n
}

func (c *checker) seconds(key, value string, low, high int) time.Duration {
	return time.Duration(c.number(key, value, low, high)) * time.Second
}

func (c *checker) word(key, value string, words ...string) {
	if !slices.Contains(words, value) {
		c.refuse(key, value, "one of "+strings.Join(words, ", "))
	}
}

const (
	dayOfSeconds  = 24 * 60 * 60
	catchUpMax    = 31 * dayOfSeconds
	fanOutRateMax = 1_000_000
)

// readTask checks a whole row: the errors name every invalid field.
func readTask(row settings.TaskRow, registry *media.Registry, lanes []settings.Lane) (*Task, []*config.FieldError) {
	c := &checker{}
	t := &Task{Task: task.Task{
		ID: row.ID, Name: row.Name, Media: row.Media, Handler: row.Handler, Cron: row.Cron, Timezone: row.Timezone,
		Enabled: row.Enabled != "0",
	}}
	if !taskName.MatchString(row.Name) {
		c.refuse("name", row.Name, "up to 96 letters, digits, dots, dashes and underscores")
	}
	c.word("enabled", row.Enabled, "0", "1")
	t.Schedule = c.schedule(row)
	c.handler(row, registry)
	c.lane(row, lanes)
	c.scope(row.Scope)
	t.Revision = int64(c.number("revision", row.Revision, 0, 1<<53))
	t.Settings = task.Settings{
		Lane:          row.Lane,
		Scope:         row.Scope,
		Params:        params(row.Params),
		Timeout:       c.seconds("timeout_seconds", row.Timeout, 1, dayOfSeconds),
		TTL:           c.seconds("ttl_seconds", row.TTL, 0, catchUpMax),
		RetryMax:      c.number("retry_max", row.RetryMax, 0, 100),
		RetryBase:     c.seconds("retry_base_seconds", row.RetryBase, 1, 3600),
		Overlap:       task.Overlap(row.Overlap),
		CatchUp:       task.CatchUp(row.CatchUp),
		CatchUpWindow: c.seconds("catch_up_window_seconds", row.CatchUpWindow, 0, catchUpMax),
		CatchUpOrder:  task.CatchUpOrder(row.CatchUpOrder),
		CatchUpSpread: c.seconds("catch_up_spread_seconds", row.CatchUpSpread, 0, dayOfSeconds),
		Concurrency:   task.Concurrency(row.Concurrency),
		SerialKey:     row.SerialKey,
		ExclusiveOver: task.Over(cmp.Or(row.ExclusiveOver, string(task.OverLane))),
		ExclusiveMax:  c.seconds("exclusive_max_seconds", row.ExclusiveMax, 1, dayOfSeconds),
		// A good row of an earlier program has neither of the two.
		ExclusiveDrain: c.seconds("exclusive_drain_seconds", cmp.Or(row.ExclusiveDrain, "60"), 1, dayOfSeconds),
		FanOutRate:     c.number("fan_out_rate", row.FanOutRate, 0, fanOutRateMax),
		After:          c.after(row),
		Application:    row.Application,
	}
	if !task.IsApplication(row.Application) {
		c.refuse("application", row.Application, task.WantApplication)
	}
	c.word("catch_up", row.CatchUp, string(task.CatchUpNone), string(task.CatchUpLatest), string(task.CatchUpAll))
	c.word("catch_up_order", row.CatchUpOrder, string(task.OldestFirst), string(task.NewestFirst))
	c.word("overlap", row.Overlap, string(task.OverlapSkip), string(task.OverlapQueue), string(task.OverlapReplace))
	c.word("concurrency", row.Concurrency, string(task.Parallel), string(task.Serial), string(task.Exclusive))
	c.word("exclusive_over", string(t.ExclusiveOver), string(task.OverLane), string(task.OverPlatform),
		string(task.OverEverything))
	c.serialKey(row)
	if len(c.errs) > 0 {
		return nil, c.errs
	}
	return t, nil
}

func (c *checker) serialKey(row settings.TaskRow) {
	switch {
	case row.SerialKey == "":
	case row.Concurrency != string(task.Serial):
		c.refuse("serial_key", row.SerialKey, "nothing unless concurrency is "+string(task.Serial))
	default:
		p := params(row.Params)
		if p != nil && !json.Valid(p) {
			return // The params are refused already.
		}
		if err := task.CheckSerialKey(row.SerialKey, p); err != nil {
			c.refuse("serial_key", row.SerialKey, "fields of the params, {account} and {part}: "+err.Error())
		}
	}
}

func params(text string) json.RawMessage {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return json.RawMessage(text)
}

func (c *checker) handler(row settings.TaskRow, registry *media.Registry) {
	platforms := []string{systemMedia}
	for _, name := range registry.Names() {
		platform, _, _ := strings.Cut(name, ".")
		if !slices.Contains(platforms, platform) {
			platforms = append(platforms, platform)
		}
	}
	slices.Sort(platforms)
	c.word("media", row.Media, platforms...)
	handler, known := registry.Get(row.Handler)
	platform, _, _ := strings.Cut(row.Handler, ".")
	switch {
	case !known:
		c.refuse("handler", row.Handler, "one of "+strings.Join(registry.Names(), ", "))
		return
	case platform != row.Media && platform != systemMedia && slices.Contains(platforms, row.Media):
		c.refuse("handler", row.Handler, "a handler of the media "+row.Media+", or of "+systemMedia)
	}
	p := params(row.Params)
	switch {
	case p != nil && !json.Valid(p):
		c.refuse("params", row.Params, "JSON, or nothing")
	case handler.Check == nil && p != nil:
		c.refuse("params", row.Params, "nothing: the handler takes none")
	case handler.Check != nil:
		if err := handler.Check(p); err != nil {
			c.refuse("params", row.Params, "what the handler takes: "+err.Error())
		}
	}
}

func (c *checker) lane(row settings.TaskRow, lanes []settings.Lane) {
	if !laneName.MatchString(row.Lane) {
		c.refuse("lane", row.Lane, "up to 32 lower-case letters, digits, dashes and underscores, a letter first")
		return
	}
	known := slices.ContainsFunc(lanes, func(l settings.Lane) bool {
		return l.Name == row.Lane && (l.Media == settings.AnyMedia || l.Media == row.Media)
	})
	if !known {
		// No consumer reads a lane without a row: its work would wait forever.
		c.refuse("lane", row.Lane, "a name that the table lane has a row for")
	}
}

func (c *checker) scope(scope string) {
	if scope == "all" {
		return
	}
	for word := range strings.SplitSeq(scope, ",") {
		if !slices.Contains(tierWords, word) {
			c.refuse("scope", scope, "all, or some of "+strings.Join(tierWords, ", ")+" with commas and no blanks between")
			return
		}
	}
}

// schedule reads the task's cron and zone, or only its zone if it has no cron.
func (c *checker) schedule(row settings.TaskRow) schedule.Schedule {
	var s schedule.Schedule
	var err error
	switch {
	case row.After == "":
		s, err = schedule.Parse(row.Cron, row.Timezone, row.Name)
	case row.Cron != "":
		c.refuse("cron", row.Cron, "nothing next to after_tasks: a task starts by its cron or after others")
		fallthrough
	default:
		_, err = schedule.Zone(row.Timezone)
	}
	if field, ok := errors.AsType[*config.FieldError](err); ok {
		c.errs = append(c.errs, field)
	} else if err != nil {
		c.refuse("cron", row.Cron, err.Error())
	}
	return s
}

// after reads the names of the tasks that this one starts after. Whether they exist is checked after all rows are read.
func (c *checker) after(row settings.TaskRow) []string {
	if row.After == "" {
		return nil
	}
	names := strings.Split(row.After, ",")
	for i, name := range names {
		switch {
		case !taskName.MatchString(name):
			c.refuse("after_tasks", row.After, "names of tasks with commas and no blanks between")
			return nil
		case name == row.Name:
			c.refuse("after_tasks", row.After, "other tasks: a task cannot start after itself")
			return nil
		case slices.Contains(names[:i], name):
			c.refuse("after_tasks", row.After, "each task once, not "+name+" twice")
			return nil
		}
	}
	return names
}
