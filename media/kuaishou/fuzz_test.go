package kuaishou_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/media"
	"adsync/media/kuaishou"
)

// requireRows checks that each row can be stored, or is lost for a reason.
func requireRows(t *testing.T, page media.Page, isReport, hasObject bool) {
	t.Helper()
	for _, row := range page.Rows {
		if row.Lost {
			require.NotEmpty(t, row.Faults)
			continue
		}
		require.Equal(t, hasObject, row.Object != "")
		require.LessOrEqual(t, len(row.Object), 64)
		require.Equal(t, isReport, row.Day != "")
		require.True(t, row.Hour >= 0 && row.Hour <= 23)
		require.True(t, row.Modified.IsZero() || row.Modified.Year() >= 1970 && row.Modified.Year() <= 9999)
	}
}

func FuzzReaders(f *testing.F) {
	for _, s := range []string{rows(campaignRow), rows(unitRow), rows(creativeRow), rows(packageRow), rows(videoRow),
		rows(reportRow), rows(newJob, oldJob), approved("true", "8173064"), details("a"), envelope(`{` + pair + `}`),
		envelope(`{"balance":1.5,"recharge_balance":-0.1}`), rows(`{"date":"2019-09-05","balance":1e3}`),
		rows(`{"operation_time":"2026-11-21 00:30:00","content_log":[{"field_name":"a"}]}`),
		rows(`{"image_token":"a","create_time":1699858653896}`), rows(`null`), envelope(`[]`), refusal(401003, "n")} {
		f.Add([]byte(s))
	}
	k := kuaishou.New()
	f.Fuzz(func(t *testing.T, answer []byte) {
		s := &server{t: t}
		each := func() *server {
			s.answers, s.asked = slices.Repeat([]string{string(answer)}, 5), nil
			s.files = []string{string(answer)}
			return s
		}
		for _, l := range k.Lists() {
			for _, variant := range append(slices.Clone(l.Variants), "") {
				if page, err := l.Page(t.Context(), each(), media.ListQuery{Variant: variant}, ""); err == nil {
					requireRows(t, page, false, true)
				}
			}
		}
		for _, r := range k.Reports() {
			for _, variant := range append(slices.Clone(r.Variants), "") {
				q := media.ReportQuery{Variant: variant, From: "2026-09-01", To: "2026-09-01"}
				if page, err := r.Page(t.Context(), each(), q, ""); err == nil {
					requireRows(t, page, true, r.Level != "account")
				}
			}
			var page media.Page
			r.Files.Read(&page, answer)
			require.Len(t, page.Rows, 1)
			requireRows(t, page, true, r.Level != "account")
			_, _ = r.Values(answer)
		}
		files := k.Reports()[0].Files
		_, _ = files.Create(t.Context(), each(), "adsync-1", media.ReportQuery{})
		_, _ = files.Find(t.Context(), each(), "adsync-1")
		_, _ = files.State(t.Context(), each(), "1230104")
		_, _ = files.Open(t.Context(), each(), media.Job{ID: "1230104"})
		_, _ = k.Funds().Balance.Fetch(t.Context(), each())
		if page, err := k.Funds().Daily.Page(t.Context(), each(), media.ReportQuery{}, ""); err == nil {
			requireRows(t, page, true, false)
		}
		_, _ = k.Operations().Page(t.Context(), each(), media.ReportQuery{}, "")
		_ = k.Accounts(t.Context(), each(), "", func([]media.FoundAccount) error { return nil })
		x := &transport{answers: slices.Repeat([]string{string(answer)}, 5)}
		_, _ = k.Exchange(t.Context(), x, app(), tokens().Refresh, "")
		_, _ = k.Refresh(t.Context(), x, app(), "r")
	})
}
