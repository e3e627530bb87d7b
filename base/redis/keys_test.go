package redis

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestKeys_Of(t *testing.T) {
	t.Parallel()
	k := NewKeys("adsync")
	require.Equal(t, "adsync", k.Prefix())
	for _, tt := range []struct {
		name  string
		tag   string
		parts []string
		want  string
	}{
		{"a tag and parts", "tulip", []string{"pace", "app", "17"}, "adsync:{tulip}:pace:app:17"},
		{"no parts", "tulip", nil, "adsync:{tulip}"},
		{"an empty tag still holds keys together", "", []string{"x"}, "adsync:{-}:x"},
		{"structure in user-chosen parts", "a}b", []string{"c:d", "{e}", "50%"}, "adsync:{a%7Db}:c%3Ad:%7Be%7D:50%25"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, k.Of(tt.tag, tt.parts...))
		})
	}
}

func TestKeys_DifferentPartsGiveDifferentKeys(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.StringOfN(rapid.RuneFrom([]rune(":{}%3Aa")), 0, 4, -1)
		list := rapid.SliceOfN(part, 1, 3)
		a, b := list.Draw(t, "a"), list.Draw(t, "b")
		same := strings.Join(a, "\x00") == strings.Join(b, "\x00") && len(a) == len(b)
		k := NewKeys("p")
		if (k.Of(a[0], a[1:]...) == k.Of(b[0], b[1:]...)) != same && a[0] != "" && b[0] != "" {
			t.Fatalf("%q and %q", a, b)
		}
	})
}
