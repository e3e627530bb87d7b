package sqldb_test

import (
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"adsync/base/sqldb/sqldbtest"
	"adsync/base/store/storetest"
)

// Each handle has a gorm.Config of its own: gorm keeps a handle's pool and logger there.
func TestHandles_ShareNoConfig(t *testing.T) {
	t.Parallel()
	seen := map[*gorm.Config]bool{}
	for _, handle := range storetest.New(t).Data.Handles() {
		require.False(t, seen[handle.Config])
		seen[handle.Config] = true
	}
	require.GreaterOrEqual(t, len(seen), 2)
}

// Tx does not repeat a commit that must not be done twice. Its caller checks the outcome.
func TestTx_DoesNotRepeatACommitOfUnknownOutcome(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	c := sqldbtest.CutWrites(s.Data)
	add := func(tx *gorm.DB) error { return tx.Exec("UPDATE leader SET epoch = epoch + 1 WHERE id = 1").Error }
	for _, tt := range []struct {
		plan []sqldbtest.Cut
		fn   func(tx *gorm.DB) error
		want string
		adds int
	}{
		{[]sqldbtest.Cut{sqldbtest.Unseen}, add, "may have been committed", 1},
		{[]sqldbtest.Cut{sqldbtest.Lost}, add, "may have been committed", 0}, // the two cases cannot be distinguished
		{nil, func() func(tx *gorm.DB) error { // a cut before the commit is known to have undone it
			tries := 0
			return func(tx *gorm.DB) error {
				if err := add(tx); err != nil {
					return err
				}
				if tries++; tries == 1 {
					return mysql.ErrInvalidConn
				}
				return nil
			}
		}(), "", 1},
	} {
		before := storetest.Int(t, s, "SELECT epoch FROM leader")
		c.Set(tt.plan...)
		err := s.Data.Tx(t.Context(), tt.fn)
		if tt.want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, tt.want)
			require.ErrorIs(t, err, mysql.ErrInvalidConn)
		}
		require.Equal(t, tt.adds, storetest.Int(t, s, "SELECT epoch FROM leader")-before)
	}
}
