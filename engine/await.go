package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"adsync/base/broker"
	"adsync/base/clock"
	"adsync/base/sqldb"
	"adsync/base/telemetry"
)

// How a start waits for a server that is away.
const (
	awaitPause = time.Second
	awaitTry   = 15 * time.Second // a hanging server must not end the waiting
)

// Await repeats try until it succeeds, with one log line per cause, and then returns nil. It returns the last error
// when ctx ends. It returns an error at once that waiting does not fix: tables of another version, a refused
// password, too few brokers.
func Await(ctx context.Context, logger *slog.Logger, what string, try func(ctx context.Context) error) error {
	began := clock.Mark()
	causes := telemetry.NewCauseLog(logger)
	for {
		bounded, cancel := context.WithTimeout(ctx, awaitTry)
		err := try(bounded)
		cancel()
		switch {
		case err == nil && causes.Clear(what):
			logger.Info("the start continues", "after", what, "waited", clock.Since(began).Round(time.Millisecond))
			return nil
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case needsAPerson(err):
			return err
		}
		causes.Report(slog.LevelWarn, what, "the start waits for "+what, err)
		timer := time.NewTimer(awaitPause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-timer.C:
		}
	}
}

// needsAPerson distinguishes the errors of a wrong configuration from those of a server that is away.
func needsAPerson(err error) bool {
	if _, ok := errors.AsType[*sqldb.SchemaError](err); ok {
		return true
	}
	return errors.Is(err, sqldb.ErrStatementBinlog) || sqldb.Refused(err) || broker.Refused(err)
}
