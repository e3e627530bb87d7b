package publishing_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/sqldb"
	"adsync/base/store/publishing"
	"adsync/base/store/storetest"
)

func TestWaitingFiles_ShareWhatTheyWaitFor(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	a, b, planned := file("sales", "2026-11-20"), file("other", "2026-11-20"), file("third", "2026-11-20")
	a.State, b.State = publishing.Waiting, publishing.Waiting
	a.PlannedAt = now.Add(time.Second)
	plan(t, s, a, b, planned)
	waiting, err := s.WaitingFiles(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, waiting, 2)
	require.Equal(t, b.ID, waiting[0].ID, "the longest waiting first")

	need := publishing.Need{SHA256: fmt.Sprintf("%064d", 1), Need: `{"groups":[]}`, UsedAt: now}
	later := need
	later.UsedAt = now.Add(time.Hour)
	require.NoError(t, s.KeepNeed(t.Context(), a.ID, &need))
	require.NoError(t, s.KeepNeed(t.Context(), b.ID, &later))
	require.NoError(t, s.KeepNeed(t.Context(), planned.ID, &later))
	require.Equal(t, need.SHA256, stored(t, s, a.ID).Need)
	require.Equal(t, need.SHA256, stored(t, s, b.ID).Need)
	require.Empty(t, stored(t, s, planned.ID).Need, "it does not wait")
	require.Equal(t, 1, storetest.RowsIn(t, s, "publication_need"))
	var used sqldb.Time
	require.NoError(t, s.Data.Writer(t.Context()).Raw("SELECT used_at FROM publication_need").Row().Scan(&used))
	require.Equal(t, later.UsedAt, used.UTC())
	text, err := s.FileNeed(t.Context(), need.SHA256)
	require.NoError(t, err)
	require.Equal(t, need.Need, text)
	_, err = s.FileNeed(t.Context(), "none")
	require.ErrorIs(t, err, sqldb.ErrNotFound)

	require.NoError(t, s.NoteWaiting(t.Context(), a.ID, "account 7"))
	require.NoError(t, s.NoteWaiting(t.Context(), planned.ID, "account 7"))
	require.Equal(t, "account 7", stored(t, s, a.ID).ErrorText)
	require.Empty(t, stored(t, s, planned.ID).ErrorText)
	require.NoError(t, s.ReleaseFile(t.Context(), a.ID, now.Add(time.Minute)))
	got := stored(t, s, a.ID)
	require.Equal(t, publishing.Planned, got.State)
	require.Empty(t, got.ErrorText)
	require.Equal(t, now.Add(time.Minute), got.UpdatedAt)
	require.Equal(t, now.Add(time.Minute), got.ReadyAt)

	ended, err := s.EndFile(t.Context(), b.ID, publishing.Cancelled, "", now)
	require.NoError(t, err)
	require.True(t, ended)
	require.NoError(t, s.ReleaseFile(t.Context(), b.ID, now))
	require.Equal(t, publishing.Cancelled, stored(t, s, b.ID).State, "it does not wait any longer")
}

func TestLeaveFile_LeavesAFileToTheNextPass(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	a := file("sales", "2026-11-20")
	a.RunID = 5
	plan(t, s, a)
	p := claim(t, s, a, 10)
	p.State, p.Lane = publishing.Planned, "large_files"
	left, err := s.LeaveFile(t.Context(), &p, now.Add(time.Minute))
	require.NoError(t, err)
	require.True(t, left)
	got := stored(t, s, a.ID)
	require.Zero(t, got.RunID)
	require.Equal(t, "large_files", got.Lane)
	require.Equal(t, publishing.Planned, got.State)
	require.EqualValues(t, 10, got.Delivery)
}

func TestFileAccounts_AreBoundAndPulled(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	for id := range int64(6) {
		tier, parked := "hot", ""
		if id == 2 {
			tier = "invalid"
		}
		if id == 4 {
			parked = "auth"
		}
		storetest.AddAccount(t, s, id+1, tier, parked)
	}
	db := s.Config.Writer(t.Context())
	require.NoError(t, db.Exec("UPDATE media_account SET bound = CASE WHEN id = 2 THEN 0 ELSE 1 END").Error)
	require.NoError(t, db.Exec("UPDATE media_account SET media = 'orchid' WHERE id = 6").Error)
	page, err := s.FileAccounts(t.Context(), "tulip", 0, 2)
	require.NoError(t, err)
	require.Equal(t, []publishing.FileAccount{{ID: 1, Timezone: "Asia/Shanghai", Tier: "hot"},
		{ID: 4, Timezone: "Asia/Shanghai", Tier: "hot"}}, page)
	page, err = s.FileAccounts(t.Context(), "tulip", 4, 2)
	require.NoError(t, err)
	require.Equal(t, []publishing.FileAccount{{ID: 5, Timezone: "Asia/Shanghai", Tier: "hot", Parked: true}}, page)
}

func TestFileSizes_AreTheLargestSinceAMoment(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	a, b, old := file("sales", "2026-11-19"), file("sales", "2026-11-20"), file("old", "2026-11-20")
	none := file("none", "2026-11-20")
	small, large := int64(10), int64(5<<40)
	a.ByteSize, b.ByteSize, old.ByteSize = &large, &small, &large
	old.PlannedAt = now.Add(-time.Hour)
	plan(t, s, a, b, old, none)
	sizes, err := s.FileSizes(t.Context(), now)
	require.NoError(t, err)
	require.Equal(t, map[string]int64{"sales": large}, sizes)
}
