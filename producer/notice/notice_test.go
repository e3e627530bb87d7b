package notice

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/broker"
	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/client/outcomes"
)

func TestNotices_ThatAreNotStoredComeAgainInOrder(t *testing.T) {
	t.Parallel()
	of := func(account int64) ledger.Subject { return ledger.Subject{TaskID: 1, AccountID: account} }
	list := []ledger.Notice{
		{Subject: of(1), Seq: 1}, {Subject: of(1), Seq: 2}, {Subject: of(2), Seq: 1}, {Subject: of(2), Seq: 2},
		{Subject: of(3), Seq: 7},
	}
	require.Empty(t, stored(list, errors.New("no answer")))
	require.Equal(t, []ledger.Notice{list[0], list[4]},
		stored(list, &broker.WriteError{Failed: []int{1}, Unknown: []int{2}, Err: errors.New("no leader")}))
}

func TestOutcomeOf_HasTheFiles(t *testing.T) {
	t.Parallel()
	f := task.File{ID: "9", Subscription: "sales", Revision: 2, Destination: "shelf", Name: "a.csv", Rows: 3, Bytes: 70,
		SHA256: "ab", Incomplete: true}
	message, err := json.Marshal(outcomeOf(&ledger.Notice{State: task.Succeeded, Files: []task.File{f}}, ""))
	require.NoError(t, err)
	require.Contains(t, string(message), `"files":[{"id":"9","subscription":"sales","revision":2,"destination":"shelf",`+
		`"name":"a.csv","rows":3,"bytes":70,"sha256":"ab","incomplete":true}]`)
	message, err = json.Marshal(outcomeOf(&ledger.Notice{State: task.Succeeded}, ""))
	require.NoError(t, err)
	require.NotContains(t, string(message), "files")
}

func TestOutcomeOf_ATimeoutIsAFailureByTime(t *testing.T) {
	t.Parallel()
	require.Equal(t, outcomes.Timeout, outcomeOf(&ledger.Notice{State: task.Failed, TimedOut: true}, "").State)
	require.Equal(t, outcomes.Failed, outcomeOf(&ledger.Notice{State: task.Failed}, "").State)
	require.Equal(t, outcomes.Expired, outcomeOf(&ledger.Notice{State: task.Expired, TimedOut: true}, "").State)
}
