package ledger_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/store/ledger"
	"adsync/base/store/storetest"
	"adsync/base/task"
)

// BenchmarkApplyOutcomes is a batch of 500 outcomes, each with its own times, on a run whose rows wait for them. On a
// MariaDB:
//
//	go run ./test/services --memory --only mariadb -- go test -run '^$' -bench ApplyOutcomes -benchtime 100x ./base/store
func BenchmarkApplyOutcomes(b *testing.B) {
	for name, without := range map[string]bool{"as the server likes it": false, "without JSON": true} {
		b.Run(name, func(b *testing.B) {
			s := storetest.New(b)
			if without {
				s.Data.WithoutJSON()
			}
			const n = 500
			for b.Loop() {
				b.StopTimer()
				r := storetest.NewRun(b, s, storetest.Moment, storetest.Keys(n)...)
				outcomes := make([]ledger.Outcome, n)
				for i := range outcomes {
					o := r.Outcome(int64(i+1), 1, task.Succeeded)
					o.StartedAt = storetest.Moment.Add(time.Duration(i) * time.Millisecond)
					o.EndedAt, o.Rows = o.StartedAt.Add(time.Second), i
					outcomes[i] = o
				}
				b.StartTimer()
				stale, err := s.ApplyOutcomes(b.Context(), outcomes)
				require.NoError(b, err)
				require.Zero(b, stale)
			}
		})
	}
}
