package place_test

import (
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/stretchr/testify/require"

	"adsync/publish/place"
)

func TestS3_ETagProvesEquality(t *testing.T) {
	t.Parallel()
	s := newS3Rig(t)
	p := s.open(t)
	content := large(11 << 20)
	f := file("a/sales.csv", 1, content)
	deliver(t, p, f)
	s.requireFile(t, f.Name, content)
	for _, other := range []place.Place{p, s.open(t)} {
		same, exists, err := other.Visible(t.Context(), f)
		require.NoError(t, err)
		require.True(t, same && exists)
	}
	require.Zero(t, s.reads.Load(), "nothing is read back")

	changed := []byte(content)
	changed[6<<20]++
	same, exists, err := p.Visible(t.Context(), file("a/sales.csv", 1, string(changed)))
	require.NoError(t, err)
	require.True(t, exists)
	require.False(t, same)
}

func TestS3_ServerWithOpaqueETags(t *testing.T) {
	t.Parallel()
	s := newS3Rig(t)
	s.kms.Store(true)
	p := s.open(t)
	f := file("sales.csv", 1, large(1000))
	deliver(t, p, f)
	s.requireFile(t, f.Name, large(1000))
	require.Zero(t, s.reads.Load())
	same, _, err := p.Visible(t.Context(), f)
	require.NoError(t, err)
	require.True(t, same)
	require.EqualValues(t, 1, s.reads.Load(), "the file is read back")
	same, _, err = p.Visible(t.Context(), file("sales.csv", 1, large(1001)[1:]))
	require.NoError(t, err)
	require.False(t, same)
}

func TestS3_ReplacesNothingWithoutAConditionOfTheServer(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*s3Rig){
		"unknown": func(s *s3Rig) { s.noCondition.Store(true) },
		"ignored": func(s *s3Rig) { s.ignores.Store(true) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newS3Rig(t)
			set(s)
			p := s.open(t)
			f := file("sales.csv", 1, "ours")
			token := upload(t, p, f)
			require.NoError(t, p.Reveal(t.Context(), f, token, false))
			s.requireFile(t, "sales.csv", "ours")

			s.write("sales.csv", "theirs")
			f = file("sales.csv", 2, "newer")
			token = upload(t, p, f)
			require.ErrorIs(t, p.Reveal(t.Context(), f, token, false), place.ErrExists)
			s.requireFile(t, "sales.csv", "theirs")
		})
	}
}

func TestS3_FileAppearsBeforeCompletion(t *testing.T) {
	t.Parallel()
	s := newS3Rig(t)
	p := s.open(t)
	f := file("sales.csv", 1, "ours")
	token := upload(t, p, f)
	s.appears.Store(true)
	require.ErrorIs(t, p.Reveal(t.Context(), f, token, false), place.ErrExists)
	s.requireFile(t, "sales.csv", "theirs")

	f = file("sales.csv", 2, "theirs")
	token = upload(t, p, f)
	require.NoError(t, p.Delete(t.Context(), "sales.csv"))
	s.appears.Store(true)
	require.NoError(t, p.Reveal(t.Context(), f, token, false), "an equal file counts as revealed")
	require.NoError(t, p.Discard(t.Context(), "sales.csv", 0))
	require.Equal(t, []string{"sales.csv"}, s.files())
}

func TestS3_SweepSparesYoungUploadsOfOthers(t *testing.T) {
	t.Parallel()
	never := func(string, int64) bool { return false }
	s := newS3Rig(t)
	upload(t, s.open(t), file("sales.csv", 1, "x"))
	n, err := s.open(t).Sweep(t.Context(), never)
	require.NoError(t, err)
	require.Zero(t, n)
	require.Equal(t, []string{"upload sales.csv"}, s.files())

	old := newS3Rig(t, gofakes3.WithTimeSource(gofakes3.FixedTimeSource(time.Now().AddDate(0, 0, -8))))
	upload(t, old.open(t), file("a/sales.csv", 1, "x"))
	n, err = old.open(t).Sweep(t.Context(), func(name string, delivery int64) bool {
		return name == "a/sales.csv" && delivery == 0
	})
	require.NoError(t, err)
	require.Zero(t, n, "a delivery of the name is open")
	n, err = old.open(t).Sweep(t.Context(), never)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Empty(t, old.files())
}

func TestS3_DiscardSparesOnlyUploadsThatItHasSeen(t *testing.T) {
	t.Parallel()
	s := newS3Rig(t)
	f := file("sales.csv", 1, "x")
	token := upload(t, s.open(t), f)
	p := s.open(t)
	require.NoError(t, p.Verify(t.Context(), f, token, false))
	require.NoError(t, p.Discard(t.Context(), "sales.csv", 1))
	require.NoError(t, p.Verify(t.Context(), f, token, false))
	require.NoError(t, s.open(t).Discard(t.Context(), "sales.csv", 1))
	require.ErrorIs(t, p.Verify(t.Context(), f, token, false), place.ErrNotWhole)
}

func TestS3_BucketMustExist(t *testing.T) {
	t.Parallel()
	s := newS3Rig(t)
	s.config.Address += "-other"
	err := s.open(t).Probe(t.Context())
	require.True(t, place.Refused(err), "%v", err)
	require.ErrorContains(t, err, "NoSuchBucket")
}
