package publishing

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/secret"
	"adsync/publish/place"
	"adsync/test/services/local"
)

// openPlace returns a destination as adsync reaches it.
func openPlace(t *testing.T, s *shelf) place.Place {
	t.Helper()
	text := func(key string) string { v, _ := s.row[key].(string); return v }
	c := place.Config{Kind: s.kind, Address: text("address"), User: text("login"), HostKey: text("host_key"),
		CA: text("ca")}
	if s.kind != onDir {
		c.Password, c.Options.TimeoutSeconds = secret.NewText(text("password")), 5
	}
	if s.kind == onS3 {
		c.Options.PathStyle, c.Options.PartMiB = true, 5
	}
	p, err := place.Open(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// deliver takes a file through all steps.
func deliver(t *testing.T, p place.Place, content string, delivery int64) error {
	t.Helper()
	f := place.File{Name: "2026-11-20/a.csv", Delivery: delivery, Size: int64(len(content)),
		SHA256: sha256.Sum256([]byte(content)), Content: bytes.NewReader([]byte(content))}
	token, err := p.Upload(t.Context(), f, func(string) error { return nil })
	if err != nil {
		return err
	}
	if err := p.Verify(t.Context(), f, token, true); err != nil {
		return err
	}
	if err := p.Discard(t.Context(), f.Name, f.Delivery); err != nil {
		return err
	}
	return p.Reveal(t.Context(), f, token, true)
}

// A fault that a server does not have would make a scenario pass.
func TestShelves_HaveTheFaultsThatTheyAreOrdered(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("0123456789abcdef", 8<<10)
	for _, kind := range append([]string{onDir}, served...) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			ports := local.NewPorts()
			t.Cleanup(ports.Release)
			s, err := openShelf(t.Context(), kind, t.TempDir(), ports)
			require.NoError(t, err)
			t.Cleanup(s.close)
			p := openPlace(t, s)
			whole := func(content string, delivery int64) {
				t.Helper()
				require.NoError(t, deliver(t, p, content, delivery))
				files, err := s.files()
				require.NoError(t, err)
				require.Len(t, files, 1, "nothing is left over")
				require.Equal(t, content, string(files["2026-11-20/a.csv"]))
			}
			whole(content, 1)
			require.Zero(t, s.struck())
			if kind == onDir {
				return
			}
			f := s.faults
			f.cutRename.Store(true)
			whole(content+"x", 2)
			require.False(t, f.cutRename.Load(), "the connection was cut")
			f.cutUpload.Store(true)
			_ = deliver(t, p, content, 3) // The client of S3 repeats a part.
			require.False(t, f.cutUpload.Load(), "the connection was cut")
			delivery := int64(3)
			for _, on := range []*struct{ Store func(bool) }{
				{f.full.Store}, {f.readOnly.Store}, {f.halves.Store}, {f.zeroes.Store}, {f.losesTail.Store},
			} {
				before := s.struck()
				delivery++
				on.Store(true)
				require.Error(t, deliver(t, p, content, delivery))
				require.Greater(t, s.struck(), before)
				f.end()
			}
			whole(content, 100)
			if kind != onS3 { // Its client tries for seconds.
				s.away()
				require.Error(t, deliver(t, p, content, 101))
				f.end()
				whole(content, 102)
			}
		})
	}
}

func TestOneVersion_FindsMixedFigures(t *testing.T) {
	t.Parallel()
	require.NoError(t, oneVersion([]byte("day,account_id,cost\n2026-11-20,1,10000001\n2026-11-20,2,10000002\n")))
	require.NoError(t, oneVersion([]byte("day,account_id,cost\n")))
	require.ErrorContains(t, oneVersion([]byte("day,account_id,cost\n2026-11-20,1,10000001\n2026-11-20,2,11000002\n")),
		"line 2 has version 10, and line 3 has 11")
	require.EqualError(t, oneVersion([]byte("day,account_id,cost\n\x00\x00\n")), `line 2 is "\x00\x00"`)
	spoilt := oneVersion([]byte("day,account_id,cost\n2026-11-20,1,1" + strings.Repeat("\x00", 5000)))
	require.Less(t, len(spoilt.Error()), 300, "it is printed")
}

func TestAll_AreNamedOnceAndSayWhatTheyDo(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range All {
		names = append(names, All[i].Name)
		require.NotEmpty(t, All[i].Doc)
		require.NotNil(t, All[i].steps)
		require.True(t, strings.HasPrefix(All[i].Name, "publish-"))
	}
	slices.Sort(names)
	require.Len(t, slices.Compact(names), len(All))
}
