package api

import (
	"context"
	"errors"
	"net/http"

	"adsync/base/httpapi"
	"adsync/base/sqldb"
	"adsync/base/store/ledger"
)

// runNames finds runs, and the orders whose runs the leader has not made yet.
type runNames interface {
	Run(ctx context.Context, id int64) (ledger.Run, error)
	Order(ctx context.Context, runID int64) (taskID int64, err error)
}

// runFinder finds the runs that requests name.
type runFinder struct{ runNames }

// named finds the run whose id a text has. A run that is ordered and not made yet has only its id, and no state.
func (f runFinder) named(ctx context.Context, text string) (ledger.Run, error) {
	id, err := httpapi.ParseID(text)
	if err != nil {
		return ledger.Run{}, noRun(text)
	}
	run, err := f.Run(ctx, id)
	if errors.Is(err, sqldb.ErrNotFound) {
		if _, err = f.Order(ctx, id); errors.Is(err, sqldb.ErrNotFound) {
			return ledger.Run{}, noRun(text)
		}
		run = ledger.Run{ID: id}
	}
	return run, err
}

func noRun(id string) error {
	return httpapi.NewProblem(http.StatusNotFound, "There is no run %q: want the id of one in the list of runs.", id)
}
