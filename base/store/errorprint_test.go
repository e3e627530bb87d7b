package store_test

import (
	"regexp"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/base/store"
)

func TestErrorPrint(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"numbers and times go", "account 1784563 at 2026-11-21T10:00:03.123Z: 12.5% of 1,000", "account ? at ?: ?% of ?"},
		{"hexadecimal and request ids go", "request 0x7ffe01 id=9f86d081-884c-7d65 failed", "request ? id=? failed"},
		{"quoted parts go", `field "date_range" and 'level' of ` + "`report`", "field ? and ? of ?"},
		{"an apostrophe is no quote", "it doesn't work and won't", "it doesn't work and won't"},
		{"numbers inside a sentence without blanks go alone", "账户12345余额不足", "账户?余额不足"},
		{"full-width digits and quotes go", "账户１２３“测试”失败", "账户??失败"},
		{"blanks collapse", " a\n\tb  ", "a b"},
		{"nothing stays nothing", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, store.ErrorPrint(tt.text))
		})
	}
}

func TestErrorPrint_Properties(t *testing.T) {
	t.Parallel()
	digit := regexp.MustCompile(`\pN`)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`([a-z0-9 '"\-:.额]{0,20}){0,30}`)).Draw(t, "text")
		got := store.ErrorPrint(text)
		require.Equal(t, got, store.ErrorPrint(got), "the print of a print is itself")
		require.False(t, digit.MatchString(got), "no digit is left: %q", got)
		require.LessOrEqual(t, utf8.RuneCountInString(got), 191)
		require.True(t, utf8.ValidString(got))
	})
	rapid.Check(t, func(t *rapid.T) {
		format := func(n string) string { return "rate limit: account " + n + " made " + n + " calls" }
		a := rapid.StringMatching(`[0-9]{1,19}`).Draw(t, "a")
		b := rapid.StringMatching(`[0-9a-f]{0,6}[0-9][0-9a-f]{0,6}`).Draw(t, "b")
		require.Equal(t, store.ErrorPrint(format(a)), store.ErrorPrint(format(b)), "ids do not tell errors apart")
	})
}
