package outside

import (
	"errors"
	"net/http"
	"strconv"

	"adsync/base/httpapi"
	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/client"
)

// ReadUnder reads the subtask that orders a run.
func ReadUnder(u *client.Under) (*task.Under, error) {
	run, err := httpapi.ParseID(u.RunID)
	if err != nil {
		return nil, httpapi.Refused("under.run_id", "%q is refused: want the id of the run of the subtask", u.RunID)
	}
	var account int64
	if u.AccountID != "" {
		if account, err = httpapi.ParseID(u.AccountID); err != nil {
			return nil, httpapi.Refused("under.account_id", "%q is refused: want our id of the subtask's account, or nothing",
				u.AccountID)
		}
	}
	return &task.Under{Key: task.Key{RunID: run, AccountID: account, Part: u.Part}, Name: u.Name}, nil
}

// RefusedUnder turns an error of ordering under a subtask into a problem.
func RefusedUnder(err error, u *client.Under) error {
	limit, tooMany := errors.AsType[*ledger.OrderLimitError](err)
	switch {
	case errors.Is(err, ledger.ErrOriginEnded):
		return httpapi.NewProblem(http.StatusConflict, "Subtask %q of run %s is not open: only open subtasks order runs.",
			u.Part, u.RunID)
	case errors.Is(err, ledger.ErrOtherOrder):
		return httpapi.NewProblem(http.StatusConflict,
			"The subtask has placed another order with the name %q: want another name for this one.", u.Name)
	case tooMany:
		return httpapi.NewProblem(http.StatusConflict, "No further run is ordered: %s.", limit.Error())
	}
	return err
}

// DescribeUnder describes the subtask that ordered a run; nil for none.
func DescribeUnder(u *task.Under) *client.Under {
	if u == nil {
		return nil
	}
	shown := &client.Under{RunID: strconv.FormatInt(u.RunID, 10), Part: u.Part, Name: u.Name}
	if u.AccountID != 0 {
		shown.AccountID = strconv.FormatInt(u.AccountID, 10)
	}
	return shown
}
