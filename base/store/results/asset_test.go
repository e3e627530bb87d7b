package results_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"adsync/base/day"
	"adsync/base/metric"
	"adsync/base/rawtable"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/results"
	"adsync/base/store/storetest"
)

var rawImage = rawtable.Table{Name: "test_image", Shape: rawtable.Objects,
	Columns: []rawtable.Column{{Name: "signature", Kind: rawtable.Text}}}

var bothKinds = map[string]string{rawtable.AssetImage: rawImage.Name}

func listClaim(t *testing.T, s *store.Store, list, level string) results.Claim {
	t.Helper()
	claim, _, err := s.BeginPull(t.Context(), results.Scope{AccountID: 7, Media: "test", Report: list, Level: level,
		Days: []day.Day{day.Epoch}}, list+time.Now().String(), 1)
	require.NoError(t, err)
	return claim
}

func creativesOf(t *testing.T, s *store.Store, full bool, rows ...results.ObjectRow) results.ObjectWrite {
	t.Helper()
	return results.ObjectWrite{Claim: listClaim(t, s, "creative", "creative"), Raw: storetest.RawObject, Full: full,
		Rows: rows, MapsAssets: true, AssetTables: bothKinds}
}

func imagesOf(t *testing.T, s *store.Store, ids ...string) results.ObjectWrite {
	t.Helper()
	w := results.ObjectWrite{Claim: listClaim(t, s, "image", "image"), Raw: rawImage, Full: true, AssetTables: bothKinds,
		MappedBy: "creative"}
	for _, id := range ids {
		w.Rows = append(w.Rows, results.ObjectRow{Object: id, Raw: []any{"md5 of " + id}, JSON: "{}"})
	}
	return w
}

func creative(id, json string, images ...string) results.ObjectRow {
	row := object(id, "creative "+id, 1)
	row.JSON = json
	row.Assets = []rawtable.AssetUse{}
	for _, image := range images {
		row.Assets = append(row.Assets, rawtable.AssetUse{Kind: rawtable.AssetImage, ID: image})
	}
	return row
}

// uses returns the map as "creative image signature", with a minus before what is no longer shown.
func uses(t *testing.T, s *store.Store) (list []string) {
	t.Helper()
	rows, err := s.Data.Writer(t.Context()).Raw(
		"SELECT creative_id, asset_id, signature, first_seen_at, last_seen_at, removed_at FROM creative_asset" +
			" WHERE account_id = 7 AND kind = 'image' AND media = 'test' ORDER BY creative_id, asset_id").Rows()
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var creative, asset, signature string
		var first, last, removed sqldb.Time
		require.NoError(t, rows.Scan(&creative, &asset, &signature, &first, &last, &removed))
		require.False(t, last.Before(first.Time))
		sign := ""
		if !removed.IsZero() {
			sign = "-"
		}
		list = append(list, fmt.Sprintf("%s%s %s %s", sign, creative, asset, signature))
	}
	require.NoError(t, rows.Err())
	return list
}

func assetStore(t *testing.T) *store.Store {
	t.Helper()
	s := storetest.NewResults(t)
	require.NoError(t, s.EnsureRawTables(t.Context(), []rawtable.Table{rawImage}))
	return s
}

func write(t *testing.T, s *store.Store, w results.ObjectWrite) {
	t.Helper()
	_, err := s.WriteObjects(t.Context(), w)
	require.NoError(t, err)
}

func TestAssets_KeepWhatCreativesHaveShown(t *testing.T) {
	t.Parallel()
	s := assetStore(t)
	write(t, s, creativesOf(t, s, true, creative("1", "{}", "a", "b"), creative("2", "{}", "b")))
	require.Equal(t, []string{"1 a ", "1 b ", "2 b "}, uses(t, s), "the images are not known yet")

	write(t, s, imagesOf(t, s, "a", "b", "c"))
	require.Equal(t, []string{"1 a md5 of a", "1 b md5 of b", "2 b md5 of b"}, uses(t, s))

	write(t, s, creativesOf(t, s, false, creative("1", `{"new":1}`, "b", "c")))
	require.Equal(t, []string{"-1 a md5 of a", "1 b md5 of b", "1 c md5 of c", "2 b md5 of b"}, uses(t, s),
		"a new asset has its signature at once")

	write(t, s, creativesOf(t, s, true, creative("1", `{"new":2}`, "a")))
	require.Equal(t, []string{"1 a md5 of a", "-1 b md5 of b", "-1 c md5 of c", "2 b md5 of b"}, uses(t, s),
		"an asset that came back is shown; a deleted creative keeps its assets")

	untold := creative("1", `{"new":3}`)
	untold.Assets = nil
	write(t, s, creativesOf(t, s, true, untold))
	require.Equal(t, []string{"1 a md5 of a", "-1 b md5 of b", "-1 c md5 of c", "2 b md5 of b"}, uses(t, s),
		"a row without known assets changes nothing")
	write(t, s, creativesOf(t, s, true, creative("1", `{"new":4}`)))
	require.Equal(t, "-1 a md5 of a", uses(t, s)[0], "a row with no assets removes them")
	write(t, s, creativesOf(t, s, true, creative("1", `{"new":5}`, "a", "b")))
	lacks := creative("1", `{"new":6}`, "c")
	lacks.MoreAssets = true
	write(t, s, creativesOf(t, s, true, lacks))
	require.Equal(t, []string{"1 a md5 of a", "1 b md5 of b", "1 c md5 of c"}, uses(t, s)[:3],
		"a row whose assets may be incomplete removes nothing")
}

// A signature that could not be used, or was stored before it counted as unusable, does not stay.
func TestAssets_TakeTheSignaturesOfTheirTable(t *testing.T) {
	t.Parallel()
	s := assetStore(t)
	write(t, s, creativesOf(t, s, true, creative("1", "{}", "a", "b")))
	for _, c := range []struct {
		signature any
		want      string
	}{{"-", "-"}, {"md5 \uFFFD", "md5 \uFFFD"}, {"md5 of a", "md5 of a"}, {"MD5 of a", "MD5 of a"}, {nil, ""},
		{"md5 of a", "md5 of a"}} {
		w := imagesOf(t, s, "a", "b")
		w.Rows[0].Raw, w.Rows[0].JSON = []any{c.signature}, fmt.Sprintf(`{"signature":%q}`, c.want)
		write(t, s, w)
		require.Equal(t, []string{"1 a " + c.want, "1 b md5 of b"}, uses(t, s), "%v", c.signature)
	}
}

// A pull of changes compares the signatures of what it changed, and no others.
func TestAssets_TakeSignaturesFromPullsOfChanges(t *testing.T) {
	t.Parallel()
	s := assetStore(t)
	write(t, s, creativesOf(t, s, true, creative("1", "{}", "a", "b")))
	write(t, s, imagesOf(t, s, "a", "b"))
	require.NoError(t,
		s.Data.Writer(t.Context()).Exec("UPDATE creative_asset SET signature = 'untouched' WHERE asset_id = 'b'").Error)

	changes := imagesOf(t, s, "a", "c")
	changes.Full = false
	changes.Rows[0].Raw, changes.Rows[0].JSON = []any{"new"}, `{"new":1}`
	write(t, s, changes)
	require.Equal(t, []string{"1 a new", "1 b untouched"}, uses(t, s))
	write(t, s, creativesOf(t, s, false, creative("2", "{}", "b", "c")))
	require.Equal(t, []string{"1 a new", "1 b untouched", "2 b md5 of b", "2 c md5 of c"}, uses(t, s))
	write(t, s, creativesOf(t, s, false))
	require.Equal(t, "1 b untouched", uses(t, s)[1], "nothing has changed")
	write(t, s, imagesOf(t, s, "a", "b", "c"))
	require.Equal(t, []string{"1 a md5 of a", "1 b md5 of b"}, uses(t, s)[:2], "a full pull compares all")
}

func TestAssets_AreCompleteWhenCreativesAndImagesArePulledAtOnce(t *testing.T) {
	t.Parallel()
	s := assetStore(t)
	for i := range 10 {
		image := fmt.Sprintf("image-%d", i)
		var all errgroup.Group
		creatives, images := creativesOf(t, s, false, creative(fmt.Sprint("creative-", i), "{}", image)),
			imagesOf(t, s, image)
		for _, w := range []results.ObjectWrite{creatives, images} {
			all.Go(func() error {
				_, err := s.WriteObjects(t.Context(), w)
				return err
			})
		}
		require.NoError(t, all.Wait())
		require.Contains(t, uses(t, s), fmt.Sprintf("creative-%d %s md5 of %s", i, image, image))
	}
}

func TestAssets_AreListedWithTheFiguresOfTheirCreatives(t *testing.T) {
	t.Parallel()
	s := assetStore(t)
	write(t, s, creativesOf(t, s, true, creative("1", "{}", "a", "b"), creative("2", "{}", "b")))
	const d = day.Day("2026-11-20")
	claim, _, err := s.BeginPull(t.Context(), results.Scope{AccountID: 7, Media: "test", Report: "report_daily",
		Level: "creative", Days: []day.Day{d}}, "p", 1)
	require.NoError(t, err)
	var rows []results.ReportRow
	for id, cost := range map[string]int64{"1": 100, "2": 20} {
		var m metric.Values
		m.Set(metric.Index("cost"), cost)
		rows = append(rows, results.ReportRow{Day: d, Object: id, Raw: []any{cost}, JSON: "{}", Metrics: m})
	}
	_, err = s.WriteReport(t.Context(), results.ReportWrite{Claim: claim, Raw: storetest.RawReport, Currency: "CNY",
		Zone: "Asia/Shanghai", Rows: rows, Whole: true})
	require.NoError(t, err)
	var got []struct {
		AssetID string
		Assets  int
		Cost    int64
	}
	require.NoError(t,
		s.Data.Writer(t.Context()).Raw(
			"SELECT asset_id, assets, cost FROM report_daily_creative_asset ORDER BY creative_id, asset_id").Scan(&got).Error)
	require.Equal(t, fmt.Sprint([]any{"{a 2 100}", "{b 2 100}", "{b 1 20}"}), fmt.Sprint(got))
}
