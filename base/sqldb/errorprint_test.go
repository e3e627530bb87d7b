package sqldb_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/base/sqldb"
)

func TestErrorPrint(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"numbers and times are replaced", "account 1784563 at 2026-11-21T10:00:03.123Z: 12.5% of 1,000",
			"account ? at ?: ?% of ?"},
		{"a sign belongs to its number", "balance -12.5, drift (+3), pre-2026", "balance ?, drift (?), pre-?"},
		{"dates with names are replaced", "since Sat, 21 Nov 2026 10:00:00 GMT, until Nov 3", "since ? ? ? GMT, until ?"},
		{"other words stay", "may be marked on Monday", "may be marked on Monday"},
		{"hexadecimal and request ids are replaced", "request 0x7ffe01 id=9f86d081-884c-7d65 failed",
			"request ? id=? failed"},
		{"identifiers are replaced, whatever their digits",
			"trace aaaabbbb-cccc-dddd-eeee-ffffaaaabbbb of deadbeefcafebabe0 in deadbeef", "trace ? of ? in ?"},
		{"quoted parts are replaced", `field "date_range" and 'level' of ` + "`report`", "field ? and ? of ?"},
		{"an apostrophe is no quote", "it doesn't work and won't", "it doesn't work and won't"},
		{"only the numbers of a sentence without blanks are replaced", "账户12345余额不足", "账户?余额不足"},
		{"full-width digits and quotes are replaced", "账户１２３“测试”失败", "账户??失败"},
		{"blanks collapse", " a\n\tb  ", "a b"},
		{"nothing stays nothing", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, sqldb.ErrorPrint(tt.text))
		})
	}
}

var anyDigit = regexp.MustCompile(`\pN`)

func checkPrint(t require.TestingT, text string) {
	got := sqldb.ErrorPrint(text)
	require.Equal(t, got, sqldb.ErrorPrint(got), "the print of a print is itself")
	require.False(t, anyDigit.MatchString(got), "no digit is left: %q", got)
	require.LessOrEqual(t, utf8.RuneCountInString(got), 191)
	require.True(t, utf8.ValidString(got))
}

func TestErrorPrint_IsShortAndItsOwnPrint(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		checkPrint(t, rapid.OneOf(rapid.String(), rapid.StringMatching(`([a-z0-9 '"\-:.额]{0,20}){0,30}`),
			rapid.StringMatching(`([a-f]{6,9}[ -]?|Nov |Sat, |[0-9]{1,4}|[+\-]){0,60}`)).Draw(t, "text"))
	})
}

func FuzzErrorPrint(f *testing.F) {
	for _, text := range []string{"account 12 at 10:00: \"x\"", "'", "\xff１ -+1", "deadbeef-dead-beef", "Sat, 21 Nov 2026",
		strings.Repeat("abcdefab", 40)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { checkPrint(t, text) })
}

// The prints of two texts of one error are equal, whatever their values.
func TestErrorPrint_OfOneErrorIsOne(t *testing.T) {
	t.Parallel()
	moment := rapid.Custom(func(t *rapid.T) string {
		at := time.UnixMilli(rapid.Int64Range(0, 4_000_000_000_000).Draw(t, "at")).UTC()
		return at.Format(rapid.SampledFrom([]string{time.RFC3339Nano, time.RFC3339, "2006-01-02", "15:04:05.000",
			"2006/01/02", "20060102150405"}).Draw(t, "layout"))
	})
	hex := rapid.OneOf(rapid.StringMatching(`0x[0-9a-f]{1,16}`), rapid.StringMatching(`[0-9a-f]{8,40}`),
		rapid.StringMatching(`[0-9A-F]{8,40}`),
		rapid.StringMatching(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`),
		rapid.StringMatching(`[0-9A-F]{8}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{12}`))
	number := rapid.OneOf(rapid.StringMatching(`[0-9]{1,19}`),
		rapid.StringMatching(`[+\-]?[0-9]{1,3}(,[0-9]{3}){0,3}(\.[0-9]{1,6})?`),
		rapid.StringMatching(`[1-9]\.[0-9]{1,5}e[+\-][0-9]{2}`),
		rapid.StringMatching(`[0-9]{1,3}m[0-9]{1,2}(\.[0-9]{1,9})?s`))
	quoted := rapid.Custom(func(t *rapid.T) string {
		inside := rapid.StringMatching(`[a-zA-Z0-9_.\-/: ]{0,20}`).Draw(t, "inside")
		quotes := rapid.SampledFrom([][2]string{{`"`, `"`}, {"'", "'"}, {"`", "`"}, {"“", "”"}, {"「", "」"}}).Draw(t, "quotes")
		return quotes[0] + inside + quotes[1]
	})
	value := rapid.OneOf(moment, hex, number, quoted)
	rapid.Check(t, func(t *rapid.T) {
		format := rapid.SampledFrom([]string{
			"rate limit: account %s made %s calls since %s",
			"api error: code=%s, message=no permission (%s), request id %s",
			"账户%s在%s无权限：%s",
			"%s [%s] %s",
		}).Draw(t, "format")
		var texts [2]string
		for i := range texts {
			texts[i] = fmt.Sprintf(format, value.Draw(t, "first"), value.Draw(t, "second"), value.Draw(t, "third"))
		}
		require.Equal(t, sqldb.ErrorPrint(texts[0]), sqldb.ErrorPrint(texts[1]), "%q and %q", texts[0], texts[1])
	})
}
