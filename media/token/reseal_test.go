package token

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/secret"
	"adsync/base/store/publishing"
	"adsync/base/store/settings"
)

// A key is replaced while processes run, with a refresh in the middle. No process stops, and the old key is not
// needed in the end.
func TestReseal_RotatesAKeyWhileTokensAreUsed(t *testing.T) {
	t.Parallel()
	w, _ := newIssued(t, true)
	file := filepath.Join(t.TempDir(), "keys.yaml")
	write := func(keys ...secret.Key) {
		text := ""
		for _, k := range keys {
			text += fmt.Sprintf("- {id: %s, key: %s}\n", k.ID, k.Key.Reveal())
		}
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	open := func() *secret.Box {
		box, err := secret.OpenBox(secret.Config{KeysFile: file}, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		return box
	}
	sealedBy := func() map[string]int {
		counts, err := SealedBy(t.Context(), w.store)
		require.NoError(t, err)
		return counts
	}
	oldKey, newKey := secret.NewKey("old"), secret.NewKey("new")
	write(oldKey)
	w.box = open()
	require.NoError(t, PutApp(t.Context(), w.store, w.box, "fake", "17", secret.NewText("app-secret")))
	w.authorise(t, 1, time.Hour)
	_, err := PutAccess(t.Context(), w.store, w.box, "fake", "no refresh token", "", secret.NewText("access-1"))
	require.NoError(t, err)
	running := w.keeper(t)
	login, err := running.Login(t.Context(), w.id)
	require.NoError(t, err)
	require.Equal(t, map[string]int{"old": 4}, sealedBy())

	// A process refreshes the pair after Reseal has read the rows.
	write(newKey, oldKey)
	before, err := w.store.SealedTokens(t.Context())
	require.NoError(t, err)
	next, err := running.Renew(t.Context(), w.id, login.Generation, nil)
	require.NoError(t, err)
	did, err := w.store.ResealTokens(t.Context(), before[0], before[0].Access, before[0].Refresh)
	require.NoError(t, err)
	require.False(t, did, "an old pair must not replace a new one")

	resealed, err := Reseal(t.Context(), w.store, open())
	require.NoError(t, err)
	require.Contains(t, []int{2, 4}, resealed, "two if the process had read the new key before it refreshed")
	require.Equal(t, map[string]int{"new": 4}, sealedBy())
	again, err := Reseal(t.Context(), w.store, open())
	require.NoError(t, err)
	require.Zero(t, again)

	write(newKey)
	login, err = w.keeper(t).Login(t.Context(), w.id)
	require.NoError(t, err)
	require.Equal(t, next.Access.Reveal(), login.Access.Reveal())
	require.Equal(t, next.Generation, login.Generation, "the tokens are the same")
	app, err := OpenApp(t.Context(), w.store, open(), "fake", "17")
	require.NoError(t, err)
	require.Equal(t, "app-secret", app.Secret.Reveal())
	_, err = running.Renew(t.Context(), w.id, login.Generation, nil)
	require.NoError(t, err, "the process that ran all the time continues")
}

func TestReseal_IncludesSecretsOfReportFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour)
	oldKey, newKey := secret.NewKey("old"), secret.NewKey("new")
	before, err := secret.NewBox(oldKey)
	require.NoError(t, err)
	sealed, err := before.Seal("hush-hush", publishing.CredentialsPlace("partner"))
	require.NoError(t, err)
	for name, credentials := range map[string]string{"partner": sealed, "depot": ""} {
		require.NoError(t, w.store.PutDestination(t.Context(), settings.Editor{Actor: "ada", Action: "x"}, name,
			func(d publishing.Destination, _ bool) (publishing.Destination, error) {
				d.Kind, d.Address, d.Credentials = "ftp", "files.example.com:21", credentials
				return d, nil
			}))
	}
	hook, err := before.Seal("hook-secret", publishing.WebhookPlace("sales"))
	require.NoError(t, err)
	for name, sealed := range map[string]string{"sales": hook, "quiet": ""} {
		require.NoError(t, w.store.Config.Writer(t.Context()).Create(&publishing.Subscription{Name: name,
			WebhookSecret: sealed, Since: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)}).Error)
	}
	counts, err := SealedBy(t.Context(), w.store)
	require.NoError(t, err)
	require.Equal(t, 2, counts["old"])

	both, err := secret.NewBox(newKey, oldKey)
	require.NoError(t, err)
	_, err = Reseal(t.Context(), w.store, both)
	require.Error(t, err, "the tokens of the world have another key")
	require.NotContains(t, err.Error(), "destination")
	counts, err = SealedBy(t.Context(), w.store)
	require.NoError(t, err)
	require.Zero(t, counts["old"])
	row, err := w.store.Destination(t.Context(), "partner")
	require.NoError(t, err)
	after, err := secret.NewBox(newKey)
	require.NoError(t, err)
	text, err := after.Open(row.Credentials, publishing.CredentialsPlace("partner"))
	require.NoError(t, err)
	require.Equal(t, "hush-hush", text)
	did, err := w.store.ResealDestination(t.Context(), publishing.Destination{Name: "partner", Credentials: sealed}, "x")
	require.NoError(t, err)
	require.False(t, did, "credentials that were changed meanwhile stay")
	sales, err := w.store.Subscription(t.Context(), "sales")
	require.NoError(t, err)
	text, err = after.Open(sales.WebhookSecret, publishing.WebhookPlace("sales"))
	require.NoError(t, err)
	require.Equal(t, "hook-secret", text)
	did, err = w.store.ResealWebhook(t.Context(), publishing.Subscription{Name: "sales", WebhookSecret: hook}, "x")
	require.NoError(t, err)
	require.False(t, did)
}

func TestReseal_LeavesTextsThatDoNotOpen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour)
	lost := w.row(t)
	k2 := secret.NewKey("k2")
	box, err := secret.NewBox(k2)
	require.NoError(t, err)
	require.NoError(t, PutApp(t.Context(), w.store, box, "fake", "18", secret.NewText("app-secret")))
	box, err = secret.NewBox(secret.NewKey("k3"), k2)
	require.NoError(t, err)

	resealed, err := Reseal(t.Context(), w.store, box)
	require.Equal(t, 1, resealed, "the other texts are resealed")
	require.ErrorContains(t, err, `the secret of app 17 of fake: no key "k1" is configured`)
	require.ErrorContains(t, err, fmt.Sprintf(`the tokens of login %d: no key "k1" is configured`, w.id))
	require.Equal(t, lost, w.row(t))
}

func TestReseal_LeavesAPairIfOneOfItDoesNotOpen(t *testing.T) {
	t.Parallel()
	for column, place := range map[string]func(int64) string{"access_token": accessPlace, "refresh_token": refreshPlace} {
		t.Run(column+" opens", func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, time.Hour)
			k2 := secret.NewKey("k2")
			box, err := secret.NewBox(k2)
			require.NoError(t, err)
			sealed, err := box.Seal("x", place(w.id))
			require.NoError(t, err)
			require.NoError(t, w.store.Config.Writer(t.Context()).Exec("UPDATE media_token SET "+column+" = ? WHERE id = ?",
				sealed, w.id).Error)
			before := w.row(t)
			box, err = secret.NewBox(secret.NewKey("k3"), k2)
			require.NoError(t, err)
			resealed, err := Reseal(t.Context(), w.store, box)
			require.Zero(t, resealed)
			require.ErrorContains(t, err, fmt.Sprintf(`the tokens of login %d: no key "k1" is configured`, w.id))
			require.Equal(t, before, w.row(t))
		})
	}
}
