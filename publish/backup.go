package publish

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"time"

	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/base/task"
	"adsync/media"
	"adsync/publish/place"
)

// BackupName is the kind of work that backs up the config database and the last days of the ledger.
const BackupName = Media + ".backup"

// The params of backups that are 0.
const (
	backupDaysDefault = 3
	backupKeepDefault = 14
)

// backup is the kind system.backup. base/store/backup has the format of its files, and what they hold.
type backup struct{ Deps }

// BackupHandler returns the handler of the kind.
func BackupHandler(deps Deps) media.Handler { return media.HandlerOf(backup{deps}) }

// backupBody is the params of its tasks.
type backupBody struct {
	Destination string `json:"destination"`
	// Prefix is the directory below the destination's own prefix; empty means that prefix.
	Prefix string `json:"prefix"`
	Days   int    `json:"days"` // of the ledger, with the day of the backup; 0 means 3
	Keep   int    `json:"keep"` // how many of the newest backups stay at the destination; 0 means 14
}

func (backup) Name() string { return BackupName }

func (backup) Check(b *backupBody) error {
	b.Days, b.Keep = cmp.Or(b.Days, backupDaysDefault), cmp.Or(b.Keep, backupKeepDefault)
	switch {
	case b.Destination == "":
		return errors.New("params.destination: want the name of a destination: adsync destinations list")
	case b.Prefix != "" && place.CheckName(b.Prefix) != nil:
		return fmt.Errorf("params.prefix: %w", place.CheckName(b.Prefix))
	case b.Days < 1 || b.Days > 31:
		return fmt.Errorf("params.days: %d is refused: want 1 to 31, or 0 for %d", b.Days, backupDaysDefault)
	case b.Keep < 1 || b.Keep > 1000:
		return fmt.Errorf("params.keep: %d is refused: want 1 to 1000, or 0 for %d", b.Keep, backupKeepDefault)
	}
	return nil
}

func (backup) Parts(plan media.Plan, _ backupBody) ([]string, error) {
	if plan.From != "" {
		return nil, errors.New("from: a backup has the present rows: remove from and to")
	}
	return []string{"backup"}, nil
}

// Run makes the backup, unless an earlier try has, and then deletes the oldest ones. The name is that of the run, so
// that all tries have the same.
func (b backup) Run(ctx context.Context, work media.Work, body backupBody) (result media.Result, err error) {
	config, err := b.destination(ctx, body.Destination)
	if err != nil {
		return result, err
	}
	delivery := task.NewRunID(b.Clock.Now())
	at, err := b.openPlace(ctx, body.Destination, config, delivery)
	if err != nil {
		return result, err
	}
	defer func() {
		_ = at.Close()
		b.returnConnection(ctx, body.Destination, delivery)
	}()
	made := backupFile(task.RunTime(work.RunID))
	names, err := at.Names(ctx, body.Prefix)
	if err != nil {
		return result, err
	}
	if !slices.Contains(names, made) {
		rows, err := b.deliver(ctx, at, path.Join(body.Prefix, made), delivery, work.RunID, body)
		if err != nil {
			return result, err
		}
		result.Rows = int(rows)
		names = append(names, made)
	}
	for _, name := range outdated(names, body.Keep) {
		if err := at.Delete(ctx, path.Join(body.Prefix, name)); err != nil {
			return result, fmt.Errorf("delete an old backup: %w", err)
		}
	}
	return result, nil
}

// destination returns the settings of a destination that may be used.
func (b backup) destination(ctx context.Context, name string) (place.Config, error) {
	row, err := b.Store.Destination(ctx, name)
	switch {
	case errors.Is(err, sqldb.ErrNotFound):
		return place.Config{}, &media.Error{Class: media.Invalid,
			Message: fmt.Sprintf("params.destination: there is no destination %s: adsync destinations list", name)}
	case err != nil:
		return place.Config{}, err
	case !row.Enabled:
		return place.Config{}, &media.DeferError{After: probeLast,
			Reason: fmt.Sprintf("the destination %s is switched off", name)}
	}
	config, err := PlaceConfig(b.Box, row)
	if err != nil {
		err = &media.Error{Class: media.Invalid, Message: err.Error()}
	}
	return config, err
}

// deliver writes the backup into a file of the spool, and delivers it.
func (b backup) deliver(ctx context.Context, at place.Place, name string, delivery, runID int64, body backupBody) (
	rows int64, err error) {
	part, err := b.Spool.create(runID) // No publication has such an id.
	if err != nil {
		return 0, full(err)
	}
	defer part.drop()
	now := b.Clock.Now()
	buffer := bufio.NewWriterSize(part, renderBuffer)
	rows, err = b.Store.WriteBackup(ctx, buffer, now, day.Of(now, time.UTC).Add(1-body.Days))
	if err == nil {
		err = buffer.Flush()
	}
	if err != nil {
		return 0, full(err)
	}
	f := place.File{Name: name, Delivery: delivery, Size: part.size, SHA256: [32]byte(part.hash.Sum(nil)),
		Content: part.file}
	token, err := at.Upload(ctx, f, func(string) error { return nil })
	if err == nil {
		err = at.Verify(ctx, f, token, true)
	}
	if err == nil {
		err = at.Discard(ctx, name, delivery)
	}
	if err == nil {
		err = at.Reveal(ctx, f, token, true)
	}
	if err != nil {
		// No later run has the name, to delete what is left.
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), revealMargin)
		defer cancel()
		_ = at.Discard(within, name, 0)
		return 0, fmt.Errorf("deliver the backup: %w", err)
	}
	b.Logger.Info("a backup was delivered", "destination", body.Destination, "name", name, "rows", rows,
		"bytes", part.size, "sha256", part.sum())
	return rows, nil
}

// full makes a try wait for room on this machine, if that is what it lacks.
func full(err error) error {
	if errors.Is(err, errSpoolFull) {
		return &media.DeferError{After: fullWait, Reason: errSpoolFull.Error()}
	}
	return err
}

// backupFile returns the name of the backup of a moment.
func backupFile(at time.Time) string {
	return "adsync-" + at.UTC().Format("20060102T150405.000Z") + ".ndjson.gz"
}

// backupPattern matches the names of backups. They are in the order of their times.
var backupPattern = regexp.MustCompile(`^adsync-\d{8}T\d{6}\.\d{3}Z\.ndjson\.gz$`)

// outdated returns the names of the backups among names except the newest ones.
func outdated(names []string, keep int) []string {
	ours := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !backupPattern.MatchString(name) })
	slices.Sort(ours)
	return ours[:max(0, len(ours)-keep)]
}
