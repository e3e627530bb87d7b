package results_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/rawtable"
	"adsync/base/store/results"
	"adsync/base/store/storetest"
)

// BenchmarkWriteObjects_OfALargeLibrary writes 1,000 images of an account with 100,000, each shown by a creative.
func BenchmarkWriteObjects_OfALargeLibrary(b *testing.B) {
	const library, page = 100_000, 1000
	s := storetest.New(b)
	ctx := b.Context()
	require.NoError(b, s.EnsureRawTables(ctx, []rawtable.Table{rawImage}))
	scope := results.Scope{AccountID: 7, Media: "test", Report: "image", Level: "image", Days: []day.Day{day.Epoch}}
	write := func(from, to int, note string) {
		claim, _, err := s.BeginPull(ctx, scope, fmt.Sprint(time.Now().UnixNano()), 1)
		require.NoError(b, err)
		w := results.ObjectWrite{Claim: claim, Raw: rawImage,
			AssetTables: map[string]string{rawtable.AssetImage: rawImage.Name}, MappedBy: "creative"}
		for i := from; i < to; i++ {
			w.Rows = append(w.Rows, results.ObjectRow{Object: fmt.Sprint(i), Raw: []any{"md5 of " + note + fmt.Sprint(i)},
				JSON: `{"note":"` + note + `"}`})
		}
		_, err = s.WriteObjects(ctx, w)
		require.NoError(b, err)
	}
	write(0, library, "")
	for from := 0; from < library; from += page {
		var rows []string
		for i := from; i < from+page; i++ {
			rows = append(rows,
				fmt.Sprintf("(7, '%d', 'image', '%d', 'test', 'md5 of %d', '2026-11-21 00:00:00', '2026-11-21 00:00:00', 1)",
					i, i, i))
		}
		require.NoError(b,
			s.Data.Writer(ctx).Exec(
				"INSERT INTO creative_asset (account_id, creative_id, kind, asset_id, media, signature, first_seen_at,"+
					" last_seen_at, version) VALUES "+
					strings.Join(rows, ", ")).Error)
	}
	n := 0
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			n++
			write(0, page, fmt.Sprint(n))
		}
	})
}
