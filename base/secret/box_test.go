package secret_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/base/secret"
)

func newBox(t require.TestingT, keys ...secret.Key) *secret.Box {
	b, err := secret.NewBox(keys...)
	require.NoError(t, err)
	return b
}

func TestBox_OpensWhatItSealed(t *testing.T) {
	t.Parallel()
	box := newBox(t, secret.NewKey("k1"))
	rapid.Check(t, func(t *rapid.T) {
		plain, place := rapid.String().Draw(t, "plain"), rapid.String().Draw(t, "place")
		sealed, err := box.Seal(plain, place)
		require.NoError(t, err)
		opened, err := box.Open(sealed, place)
		require.NoError(t, err)
		require.Equal(t, plain, opened)
	})
}

func TestBox_SealedTextShowsNeitherTextNorRepetition(t *testing.T) {
	t.Parallel()
	box := newBox(t, secret.NewKey("k1"))
	one, err := box.Seal("hunter2", "row")
	require.NoError(t, err)
	two, err := box.Seal("hunter2", "row")
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(one, "v1:k1:"))
	require.NotContains(t, one, "hunter2")
	require.NotEqual(t, one, two)
}

func TestBox_RefusesEveryChange(t *testing.T) {
	t.Parallel()
	box := newBox(t, secret.NewKey("k1"), secret.NewKey("k2"))
	sealed, err := box.Seal("hunter2", "row 1")
	require.NoError(t, err)

	_, err = box.Open(sealed, "row 2")
	require.ErrorIs(t, err, secret.ErrTampered, "a sealed text moved to another row")
	_, err = box.Open(strings.Replace(sealed, ":k1:", ":k2:", 1), "row 1")
	require.ErrorIs(t, err, secret.ErrTampered, "a sealed text under another key's name")
	for i := len("v1:k1:"); i < len(sealed); i++ {
		changed := []byte(sealed)
		changed[i] ^= 1
		_, err = box.Open(string(changed), "row 1")
		require.ErrorIs(t, err, secret.ErrTampered, "byte %d changed", i)
	}
	for _, foreign := range []string{"", "hunter2", "v1:", "v1:k1", "v1:k1:", "v1:k1:!", "v2" + sealed[2:], sealed + "A"} {
		_, err = box.Open(foreign, "row 1")
		require.ErrorIs(t, err, secret.ErrTampered, foreign)
	}
}

func TestBox_KeysRotate(t *testing.T) {
	t.Parallel()
	oldKey, newKey := secret.NewKey("2025"), secret.NewKey("2026")
	sealed, err := newBox(t, oldKey).Seal("hunter2", "row")
	require.NoError(t, err)

	both := newBox(t, newKey, oldKey)
	opened, err := both.Open(sealed, "row")
	require.NoError(t, err)
	require.Equal(t, "hunter2", opened)
	again, err := both.Seal(opened, "row")
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(again, "v1:2026:"), "the first key seals")

	_, err = newBox(t, newKey).Open(sealed, "row")
	var unknown *secret.UnknownKeyError
	require.ErrorAs(t, err, &unknown)
	require.Equal(t, "2025", unknown.ID)
}

func TestConfig_RefusesUnusableKeys(t *testing.T) {
	t.Parallel()
	good := secret.NewKey("k1")
	tests := []struct {
		name string
		keys []secret.Key
		want string
	}{
		{"none", nil,
			"keys: want at least one key {id: k1, key: …} with 32 random bytes in base64: openssl rand -base64 32 makes one"},
		{"no id", []secret.Key{{Key: good.Key}}, "keys[0].id: want 1 to 32 letters, digits, - or _"},
		{"an id that would split the sealed form", []secret.Key{{ID: "a:b", Key: good.Key}},
			`keys[0].id: "a:b" is refused: want 1 to 32 letters, digits, - or _`},
		{"the same id twice", []secret.Key{good, secret.NewKey("k1")},
			`keys[1].id: "k1" is refused: want an id that no other key has`},
		{"no base64", []secret.Key{{ID: "k1", Key: secret.NewText("hunter2!")}},
			"keys[0].key: want 32 random bytes in base64, as openssl rand -base64 32 prints them"},
		{"too short and a bad id", []secret.Key{good, {ID: "!", Key: secret.NewText("aHVudGVyMg==")}},
			"keys[1].id: \"!\" is refused: want 1 to 32 letters, digits, - or _\n" +
				"keys[1].key: want 32 random bytes in base64, as openssl rand -base64 32 prints them"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := secret.NewBox(test.keys...)
			require.EqualError(t, err, test.want)
		})
	}
	require.NoError(t, secret.Config{Keys: []secret.Key{good}}.Validate())
}
