package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/httpapi"
	"adsync/base/store/settings"
)

type fieldAnswer struct {
	Media, Field, Report, Level, State, Metric, Reason, Note, By string
	RetiredAt                                                    string `json:"retired_at"`
	UpdatedAt                                                    string `json:"updated_at"`
}

func (b *bench) fields(query string) []fieldAnswer {
	b.t.Helper()
	var answer struct{ Fields []fieldAnswer }
	require.NoError(b.t, json.Unmarshal([]byte(b.get("/api/v1/fields"+query)), &answer))
	return answer.Fields
}

// fieldsNamed returns the fields with a name.
func (b *bench) fieldsNamed(name string) (found []fieldAnswer) {
	b.t.Helper()
	for _, f := range b.fields("?media=tulip") {
		if f.Field == name {
			require.Equal(b.t, f.By == "", f.UpdatedAt == "", "%+v", f)
			f.UpdatedAt = ""
			found = append(found, f)
		}
	}
	return found
}

func TestFields_AreListedAndChanged(t *testing.T) {
	t.Parallel()
	b := setup(t)
	builtin := fieldAnswer{Media: "tulip", Field: "signups", State: "asked", Metric: "registrations"}
	require.Equal(t, []fieldAnswer{builtin}, b.fieldsNamed("signups"), "a field of the platform's package needs no row")
	put := func(body string) fieldAnswer {
		w := b.call(http.MethodPut, "/api/v1/fields", body, adminToken)
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		var f fieldAnswer
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &f))
		require.NotEmpty(t, f.UpdatedAt)
		f.UpdatedAt = ""
		return f
	}
	added := put(`{"media": "tulip", "field": "orders", "state": "asked", "reason": "for the shops"}`)
	require.Equal(t, fieldAnswer{Media: "tulip", Field: "orders", State: "trying", By: "ada", Reason: "for the shops"},
		added)
	require.Equal(t, []fieldAnswer{added}, b.fieldsNamed("orders"))

	_, err := b.store.RetireReportField(t.Context(),
		settings.ReportField{Media: "tulip", Report: "report_daily", Level: "adgroup", Field: "signups", Reason: "12009",
			ChangedBy: "adsync"})
	require.NoError(t, err)
	retired := b.fields("?state=retired")
	require.Len(t, retired, 1)
	require.Equal(t, []string{"signups", "report_daily", "adgroup", "registrations", "12009", "adsync"},
		[]string{retired[0].Field, retired[0].Report, retired[0].Level, retired[0].Metric, retired[0].Reason, retired[0].By})
	require.NotEmpty(t, retired[0].RetiredAt)
	require.Len(t, b.fieldsNamed("signups"), 2, "it is asked for everywhere else")

	kept := put(`{"media": "tulip", "field": "signups", "report": "report_daily", "state": "asked"}`)
	require.Equal(t, "asked", kept.State, "the field is still asked for on the other levels")
	require.Empty(t, b.fields("?state=retired"))
	tried := b.fields("?state=trying")
	require.Equal(t, []string{"orders", "signups"}, []string{tried[0].Field, tried[1].Field})
	require.Equal(t, []string{"report_daily", "adgroup"}, []string{tried[1].Report, tried[1].Level})
	off := put(`{"media": "tulip", "field": "signups", "state": "off"}`)
	require.Equal(t, []fieldAnswer{off}, b.fieldsNamed("signups"))
	retirement := `{"state":"retired","reason":"12009","changed_by":"adsync"}`
	require.Equal(t, []string{ // A row replaces the rows that it covers.
		`ada field.put report_field/tulip/orders  > {"state":"asked","reason":"for the shops","changed_by":"ada"}`,
		`adsync field.retire report_field/tulip/signups/report_daily/adgroup  > ` + retirement,
		`ada field.put report_field/tulip/signups/report_daily  > {"state":"asked","reason":"","changed_by":"ada"}`,
		`ada field.put report_field/tulip/signups/report_daily/adgroup ` + retirement +
			` > {"state":"asked","reason":"","changed_by":"ada"}`,
		`ada field.put report_field/tulip/signups  > {"state":"off","reason":"","changed_by":"ada"}`,
		`ada field.put report_field/tulip/signups/report_daily {"state":"asked","reason":"","changed_by":"ada"} >`,
		`ada field.put report_field/tulip/signups/report_daily/adgroup {"state":"asked","reason":"","changed_by":"ada"} >`,
	}, b.auditText())
	require.Greater(t, len(b.fields("")), len(b.fields("?media=tulip")))
}

func TestFields_RefuseWrongRequests(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, c := range map[string]struct {
		body string
		want []httpapi.FieldError
	}{
		"nothing": {`{}`, []httpapi.FieldError{
			{Field: "media", Detail: "is missing: want the name of a platform, in lower case letters"},
			{Field: "field", Detail: "is missing: want the platform's name of a field"},
			{Field: "state", Detail: "is missing: want asked or off; the platform alone retires and refuses a field"},
		}},
		"an unknown platform": {`{"media": "myspace", "field": "x", "state": "off"}`, []httpapi.FieldError{
			{Field: "media", Detail: `"myspace" is refused: want tulip or orchid`},
		}},
		"a key": {`{"media": "tulip", "field": "id", "state": "off"}`, []httpapi.FieldError{
			{Field: "field",
				Detail: `"id" is refused: want a field that report_daily can do without: ` +
					`this one is a key of its rows or the spend`},
		}},
		"the spend": {`{"media": "orchid", "field": "spend", "report": "report_hourly", "state": "off"}`,
			[]httpapi.FieldError{
				{Field: "field",
					Detail: `"spend" is refused: want a field that report_hourly can do without: ` +
						`this one is a key of its rows or the spend`},
			}},
		"a level of another platform": {`{"media": "tulip", "field": "x", "level": "campaign", "state": "asked"}`,
			[]httpapi.FieldError{
				{Field: "level", Detail: `"campaign" is refused: want one of account, adgroup, creative, or none for all`},
			}},
		"no name": {`{"media": "tulip", "field": "a,b", "state": "asked"}`, []httpapi.FieldError{
			{Field: "field",
				Detail: `"a,b" is refused: want the platform's name of a field: letters, digits, _ and ., up to 96`},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, b.refused(http.MethodPut, "/api/v1/fields", c.body))
		})
	}
	require.Equal(t, http.StatusUnprocessableEntity,
		b.call(http.MethodGet, "/api/v1/fields?state=gone", "", viewerToken).Code)
	require.Equal(t, http.StatusForbidden, b.call(http.MethodPut, "/api/v1/fields", `{}`, viewerToken).Code)
	require.Equal(t, http.StatusForbidden, b.call(http.MethodPut, "/api/v1/fields",
		`{"media": "tulip", "field": "x", "state": "off"}`, operatorToken).Code)
}

// The platform's answer about an added field is shown in its words. When the field is put again it is tried again.
func TestFields_ATrialIsShown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const order = `{"media": "tulip", "field": "orders", "state": "asked"}`
	put := func() string { return b.call(http.MethodPut, "/api/v1/fields", order, adminToken).Body.String() }
	require.Contains(t, put(), `"state":"trying"`)
	row := settings.ReportField{Media: "tulip", Field: "orders", ChangedBy: "adsync"}
	claimed, err := b.store.ClaimFieldTrial(t.Context(), row, time.Minute)
	require.NoError(t, err)
	require.True(t, claimed)
	require.NoError(t, b.store.PostponeFieldTrial(t.Context(), row, time.Minute, "no answer within 30s"))
	require.Equal(t, "no answer within 30s", b.fields("?state=trying")[0].Note)

	row.Reason = "12009: unknown field orders"
	first, err := b.store.RefuseReportField(t.Context(), row)
	require.NoError(t, err)
	require.True(t, first)
	require.Empty(t, b.fields("?state=trying"))
	require.Equal(t, []fieldAnswer{{Media: "tulip", Field: "orders", State: "refused",
		Reason: "12009: unknown field orders", By: "adsync"}}, b.fieldsNamed("orders"))
	require.Len(t, b.fields("?state=refused"), 1)

	require.Contains(t, put(), `"state":"trying"`)
	require.NoError(t, b.store.AcceptReportField(t.Context(), row))
	require.Contains(t, put(), `"state":"asked"`, "pulls already ask for it")
}

// Each added field costs a call and makes answers larger, so their number is limited.
func TestFields_RefuseOneAboveTheMaximum(t *testing.T) {
	t.Parallel()
	b := setup(t)
	put := func(field, report, state string) int {
		body := fmt.Sprintf(`{"media": "tulip", "field": %q, "state": %q%s}`, field, state, report)
		return b.call(http.MethodPut, "/api/v1/fields", body, adminToken).Code
	}
	for i := range 20 {
		require.Equal(t, http.StatusOK, put(fmt.Sprintf("invented_%d", i), "", "asked"))
	}
	require.Equal(t, []httpapi.FieldError{{Field: "field",
		Detail: "the report already has 20 fields in addition to those of the package, the maximum: switch one off " +
			"first"}},
		b.refused(http.MethodPut, "/api/v1/fields",
			`{"media": "tulip", "field": "one_more", "report": "report_daily", "state": "asked"}`))
	require.Equal(t, http.StatusOK, put("invented_3", "", "asked"), "a field that has a row")
	require.Equal(t, http.StatusOK, put("signups", "", "asked"), "a field of the package")
	require.Equal(t, http.StatusOK, put("invented_3", "", "off"))
	require.Equal(t, http.StatusOK, put("one_more", `, "report": "report_daily"`, "asked"))
}
