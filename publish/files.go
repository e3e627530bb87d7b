package publish

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/base/store/ledger"
	"adsync/base/store/publishing"
	"adsync/base/store/summaries"
	"adsync/base/task"
	"adsync/base/telemetry"
	"adsync/media"
	"adsync/upkeep"
)

// The media of the tasks that make files, their handler, which is the name of their one task too, and their lanes.
const (
	Media     = "system"
	FilesName = Media + ".files"
	Lane      = "files"
	LargeLane = "large_files"
)

// partPlan is the part of a tick's runs.
const partPlan = "plan"

// Store is what the kind needs of the store.
type Store interface {
	AllSubscriptions(ctx context.Context) ([]publishing.Subscription, error)
	Subscription(ctx context.Context, name string) (publishing.Subscription, error)
	Destination(ctx context.Context, name string) (publishing.Destination, error)
	Destinations(ctx context.Context) ([]publishing.Destination, error)
	OpenFiles(ctx context.Context) ([]publishing.Publication, error)
	AddOrder(ctx context.Context, o ledger.RunOrder) error
	PlanFiles(ctx context.Context, files []publishing.Publication) (added int, err error)
	FileProgress(ctx context.Context) (map[string]publishing.Progress, error)
	OrderFiles(ctx context.Context, limit int,
		order func([]publishing.Publication) ([]ledger.RunOrder, error)) (int, error)
	OrderedFiles(ctx context.Context, limit int) ([]publishing.Publication, error)
	OrderRevisits(ctx context.Context, limit int, now, again time.Time,
		order func([]publishing.Publication) ([]ledger.RunOrder, error)) error
	KeepNeed(ctx context.Context, id int64, need *publishing.Need) error
	FileNeed(ctx context.Context, sha256 string) (string, error)
	WaitingFiles(ctx context.Context, limit int) ([]publishing.Publication, error)
	ReleaseFile(ctx context.Context, id int64, now time.Time) error
	NoteWaiting(ctx context.Context, id int64, reason string) error
	LeaveFile(ctx context.Context, p *publishing.Publication, now time.Time) (bool, error)
	FileSizes(ctx context.Context, since time.Time) (map[string]int64, error)
	FileAccounts(ctx context.Context, media string, after int64, limit int) ([]publishing.FileAccount, error)
	FilesOfPeriods(ctx context.Context, subscription, from, to string) ([]publishing.Publication, error)
	MayUseDestination(ctx context.Context, name string, now, again time.Time) (publishing.DestinationState, bool, error)
	DestinationFailed(ctx context.Context, name, reason string, now, probeAt time.Time) error
	DestinationWorked(ctx context.Context, name string, publishedAt time.Time) error
	TakeConnection(ctx context.Context, destination string, most int, delivery int64, now, until time.Time) (bool, error)
	ReturnConnection(ctx context.Context, destination string, delivery int64, now time.Time) error
	Bindings(ctx context.Context) ([]summaries.Binding, error)
	upkeep.ReachStore
	ForgetFileRun(ctx context.Context, id, runID int64) error
	ClaimFile(ctx context.Context, of *publishing.Publication, delivery int64, node string, now time.Time) (
		p publishing.Publication, ok bool, err error)
	StepFile(ctx context.Context, p *publishing.Publication) (ok bool, err error)
	EndFile(ctx context.Context, id int64, state publishing.State, reason string, now time.Time) (bool, error)
	FileRevisited(ctx context.Context, p *publishing.Publication) error
	FileNotified(ctx context.Context, p *publishing.Publication, again time.Time) error
	FileRivals(ctx context.Context, p *publishing.Publication) ([]publishing.Publication, error)
	SubtaskStates(ctx context.Context, keys []task.Key) (map[task.Key]ledger.SubtaskStatus, error)
	WriteBackup(ctx context.Context, to io.Writer, at time.Time, from day.Day) (rows int64, err error)
}

// Database runs the queries. Its user should have no rights but to read the views.
type Database struct {
	DB      *sql.DB
	Dialect sqldb.Dialect
}

// Deps holds what the kind depends on.
type Deps struct {
	Store    Store
	Database Database
	Box      *secret.Box
	Clock    clock.Clock // of business days, and of the moments of subscriptions
	// Platforms are those whose figures files wait for.
	Platforms []media.Platform
	Spool     *Spool
	// LargeBytes is above which size files are made on LargeLane, in bytes.
	LargeBytes int64
	// LocalWebhooks allows webhooks on this machine.
	LocalWebhooks bool
	Node          string // the name of this process in rows
	Logger        *slog.Logger
	Registerer    prometheus.Registerer // nil = no metrics are exported
}

// files is the kind system.files.
type files struct {
	Deps
	causes   *telemetry.CauseLog
	metrics  *metrics
	webhooks *http.Client
}

// Handler returns the handler of the kind.
func Handler(deps Deps) media.Handler {
	return media.HandlerOf(files{Deps: deps, causes: telemetry.NewCauseLog(deps.Logger),
		metrics: newMetrics(deps.Registerer, deps.Spool), webhooks: newWebhookClient(deps.LocalWebhooks)})
}

func (files) Name() string { return FilesName }

func (files) Check(*struct{}) error { return nil }

// Parts returns the files that an order names. A tick plans.
func (files) Parts(plan media.Plan, _ struct{}) ([]string, error) {
	if plan.From != "" {
		return nil, errors.New("from: files are ordered with `adsync publications order`: remove from and to")
	}
	if len(plan.Parts) > 0 {
		return plan.Parts, nil
	}
	return []string{partPlan}, nil
}

func (f files) Run(ctx context.Context, work media.Work, _ struct{}) (media.Result, error) {
	if work.Part == partPlan {
		added, err := f.plan(ctx)
		return media.Result{Rows: added}, errors.Join(err, f.orderSweeps(ctx, work.PlannedAt))
	}
	if name, is := strings.CutPrefix(work.Part, partSweep); is && !strings.Contains(name, "/") {
		swept, err := f.sweep(ctx, name)
		return media.Result{Rows: swept}, err
	}
	of, err := parsePart(work.Part)
	if err != nil {
		return media.Result{}, &media.Error{Class: media.Invalid, Message: err.Error()}
	}
	now := f.Clock.Now()
	p, open, err := f.Store.ClaimFile(ctx, &of, task.NewRunID(now), f.Node, now)
	switch {
	case errors.Is(err, sqldb.ErrNotFound):
		return media.Result{}, &media.Error{Class: media.Invalid, Message: "there is no such file"}
	case err != nil:
		return media.Result{}, err
	case !open:
		f.Spool.Remove(p.ID) // A try that was killed at its end has left it.
	}
	switch {
	case !open && p.State == publishing.Published:
		// A try that was killed before its outcome was written may have published it.
		err := f.revisit(ctx, &p)
		return media.Result{Files: delivered(&p, err)}, err
	case !open:
		return media.Result{}, media.ErrSuperseded
	}
	d := &delivery{files: f, p: &p}
	defer d.close(ctx)
	err = d.climb(ctx)
	d.note(ctx, err)
	err = d.outcome(ctx, err)
	return media.Result{Rows: d.rows, Files: delivered(&p, err)}, err
}

// delivered returns a file for the outcome of its subtask, if it is published and the subtask has succeeded.
func delivered(p *publishing.Publication, err error) []task.File {
	if err != nil || p.State != publishing.Published {
		return nil
	}
	f := task.File{ID: strconv.FormatInt(p.ID, 10), Subscription: p.Subscription, Revision: p.Revision,
		Destination: p.Destination, Name: p.Name, SHA256: p.SHA256, Incomplete: p.Incomplete}
	if p.RowCount != nil && p.ByteSize != nil {
		f.Rows, f.Bytes = *p.RowCount, *p.ByteSize
	}
	return []task.File{f}
}

// parsePart reads the name of a file's subtask.
func parsePart(part string) (p publishing.Publication, err error) {
	fields := strings.Split(part, "/")
	if len(fields) != 3 {
		return p, fmt.Errorf("%q names no file", part)
	}
	from, to, two := strings.Cut(fields[1], "_")
	if !two {
		to = from
	}
	p.Subscription = fields[0]
	var errs [3]error
	p.FromDay, errs[0] = day.Parse(from)
	p.ToDay, errs[1] = day.Parse(to)
	p.Revision, errs[2] = strconv.Atoi(strings.TrimPrefix(fields[2], "r"))
	if err := errors.Join(errs[:]...); err != nil {
		return p, fmt.Errorf("%q names no file: %w", part, err)
	}
	return p, nil
}
