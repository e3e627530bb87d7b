package page

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPieces_KeepNamesWhole(t *testing.T) {
	t.Parallel()
	const long = "https://adsync.example.com/oauth/tulip/callback"
	for text, want := range map[string][]piece{
		"":             nil,
		"one two":      {{"one two", false}},
		"agency-south": {{"agency-south", true}},
		"The login agency-south, of tulip/20000001 too.": {
			{"The login ", false}, {"agency-south,", true}, {" of ", false}, {"tulip/20000001", true}, {" too.", false},
		},
		"--app-id 1  --redirect-uri " + long: {{"--app-id", true}, {" 1  ", false}, {"--redirect-uri", true},
			{" " + long, false}},
	} {
		got, whole := pieces(text), ""
		for _, p := range got {
			whole += p.Text
		}
		require.Equal(t, text, whole, "nothing is lost")
		if text != "" {
			require.Equal(t, want, got, text)
		}
	}
}
