package api_test

import (
	"crypto/ed25519"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"adsync/base/secret"
	"adsync/base/store/publishing"
	"adsync/base/store/settings"
	"adsync/client"
	"adsync/publish"
)

const (
	destinationsPath = "/api/v1/destinations"
	depotPath        = destinationsPath + "/depot"
)

// answerOf sends a request as an admin and returns its answer, whose status must be 200.
func answerOf[A any](b *bench, method, path, body string) (answer A) {
	b.t.Helper()
	w := b.call(method, path, body, adminToken)
	require.Equal(b.t, http.StatusOK, w.Code, w.Body.String())
	decode(b.t, w.Body.String(), &answer)
	return answer
}

// put makes a row, or changes one.
func (b *bench) put(path, body string) { answerOf[map[string]any](b, http.MethodPut, path, body) }

// conflict sends a request that must be answered with 409, and returns the detail.
func (b *bench) conflict(method, path, body string) string {
	b.t.Helper()
	w := b.call(method, path, body, adminToken)
	require.Equal(b.t, http.StatusConflict, w.Code, w.Body.String())
	return b.problem(w).Detail
}

// aHostKey returns the public key of a server, and another one for each number.
func aHostKey(t *testing.T, n byte) string {
	t.Helper()
	seed := make([]byte, ed25519.SeedSize)
	seed[0] = n
	key, err := ssh.NewPublicKey(ed25519.NewKeyFromSeed(seed).Public())
	require.NoError(t, err)
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
}

func TestDestination_IsMadeChangedAndDeleted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const password = "hush-hush-17"
	key := aHostKey(t, 1)
	path := destinationsPath + "/partner"
	made := answerOf[client.Destination](b, http.MethodPut, path, fmt.Sprintf(`{"kind": "sftp",
	  "address": "files.example.com:22", "login": "adsync", "password": %q, "host_key": %q, "prefix": "in",
	  "options": {"connections": 2}}`, password, key))
	want := client.Destination{
		Name: "partner", Kind: "sftp", Address: "files.example.com:22", Prefix: "in", Login: "adsync", HasCredentials: true,
		HostKey: key, Options: map[string]any{"connections": 2.0}, Enabled: true, Subscriptions: []string{},
	}
	require.Equal(t, want, made)

	want.Prefix, want.Enabled = "out", false
	require.Equal(t, want, answerOf[client.Destination](b, http.MethodPut, path, `{"prefix": "out", "enabled": false}`),
		"a field that is left out stays")
	row, err := b.store.Destination(t.Context(), "partner")
	require.NoError(t, err)
	secrets, err := publish.OpenCredentials(b.box, row)
	require.NoError(t, err)
	require.Equal(t, publish.Credentials{Password: password}, secrets, "the password stays too")
	require.NotContains(t, row.Credentials, password)
	require.Equal(t, client.DestinationList{Destinations: []client.Destination{want}},
		answerOf[client.DestinationList](b, http.MethodGet, destinationsPath, ""))

	b.put(path, `{"password": "another-one-18"}`)
	row, err = b.store.Destination(t.Context(), "partner")
	require.NoError(t, err)
	secrets, err = publish.OpenCredentials(b.box, row)
	require.NoError(t, err)
	require.Equal(t, "another-one-18", secrets.Password)

	require.Equal(t, want, answerOf[client.Destination](b, http.MethodDelete, path, ""))
	require.Equal(t, http.StatusNotFound, b.call(http.MethodDelete, path, "", adminToken).Code)
	require.Equal(t, http.StatusNotFound, b.call(http.MethodGet, path, "", viewerToken).Code)
	audit := strings.Join(b.auditText(), "\n")
	require.Contains(t, audit, `ada destination.put destination/partner  > {"kind":"sftp"`)
	require.Contains(t, audit, `"credentials":"sealed"`)
	require.Contains(t, audit, `ada destination.put destination/partner {"prefix":"in","enabled":1} > {"prefix":"out",`+
		`"enabled":0}`)
	require.Contains(t, audit, "ada destination.delete destination/partner")
	require.NotContains(t, audit, password)
	require.NotContains(t, audit, row.Credentials)
}

func TestDestination_ARefusalNamesEachWrongField(t *testing.T) {
	t.Parallel()
	b := setup(t)
	path := destinationsPath + "/partner"
	host := aHostKey(t, 1)
	for _, test := range []struct {
		path, body string
		fields     string
	}{
		{path, `{"address": "x"}`, "kind"},
		{path, `{"kind": "dir", "address": "reports", "login": "u", "password": "hush-hush"}`, "address login password"},
		{path, `{"kind": "sftp", "address": "files.example.com"}`, "address login password host_key"},
		{path, `{"kind": "sftp", "address": "h:22", "login": "u", "key": "hush-hush", "host_key": "h ` + host + `"}`,
			"key host_key"},
		{path, `{"kind": "s3", "address": "https://u:hush-hush@s3.example.com/b"}`, "address login password"},
		{path, `{"kind": "s3", "address": "https:///b", "login": "k", "password": "hush-hush"}`, "options.region"},
		{path, `{"kind": "dir", "address": "/srv", "prefix": "../x", "options": {"part_mib": 5, "connections": 65}}`,
			"prefix options.connections options.part_mib"},
		{path, `{"kind": "dir", "address": "/srv", "options": {"conections": 1}}`, "options.conections"},
		{destinationsPath + "/Partner", `{"kind": "dir", "address": "/srv"}`, "name"},
		{destinationsPath + "/" + strings.Repeat("x", 49), `{"kind": "dir", "address": "/srv"}`, "name"},
	} {
		var fields []string
		for _, e := range b.refused(http.MethodPut, test.path, test.body) {
			fields = append(fields, e.Field)
			require.Contains(t, e.Detail, "want ", test.body)
			require.NotContains(t, e.Detail, "hush-hush", test.body)
		}
		require.Equal(t, strings.Fields(test.fields), fields, test.body)
	}
	require.Empty(t, b.auditText())
	require.Zero(t, b.count(b.store.Config, "destination"))
}

func TestDestination_InUseIsNotDeleted(t *testing.T) {
	t.Parallel()
	b := withSpend(t)
	require.Equal(t, []string{"spend"}, answerOf[client.Destination](b, http.MethodGet, depotPath, "").Subscriptions)
	require.Equal(t, "Subscriptions use it: spend. Give them another destination first, or delete them.",
		b.conflict(http.MethodDelete, depotPath, ""))
	const lakePath = destinationsPath + "/lake"
	b.put(lakePath, `{"kind": "dir", "address": "/srv/lake"}`)
	b.put(spendPath, `{"files": {"destination": "lake", "path": "{day}/*"}}`)
	for _, path := range []string{depotPath, lakePath} {
		require.Equal(t, []string{"spend"}, answerOf[client.Destination](b, http.MethodGet, path, "").Subscriptions)
		require.Contains(t, b.conflict(http.MethodDelete, path, ""), "Subscriptions use it: spend. ")
	}
	answerOf[client.Subscription](b, http.MethodDelete, spendPath, "")
	for _, path := range []string{depotPath, lakePath} {
		require.Empty(t, answerOf[client.Destination](b, http.MethodDelete, path, "").Subscriptions)
	}
}

func TestDestination_IsTried(t *testing.T) {
	t.Parallel()
	b := setup(t)
	dir := t.TempDir()
	b.put(depotPath, fmt.Sprintf(`{"kind": "dir", "address": %q}`, dir))
	require.Equal(t, client.DestinationTest{Ok: true, Detail: "A file was written, read back and deleted."},
		answerOf[client.DestinationTest](b, http.MethodPost, depotPath+"/test", ""))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)

	b.put(depotPath, fmt.Sprintf(`{"address": %q}`, filepath.Join(dir, "none")))
	failed := answerOf[client.DestinationTest](b, http.MethodPost, depotPath+"/test", "")
	require.False(t, failed.Ok)
	require.Contains(t, failed.Detail, "writing a file failed")
	require.Equal(t, "ada destination.test destination/depot  >", b.auditText()[len(b.auditText())-1])
	require.Equal(t, http.StatusNotFound, b.call(http.MethodPost, destinationsPath+"/none/test", "", adminToken).Code)
}

// The key that sealed the credentials may be lost.
func TestDestination_CredentialsThatDoNotOpenAreReplaced(t *testing.T) {
	t.Parallel()
	b := setup(t)
	lost, err := secret.NewBox(secret.NewKey("lost"))
	require.NoError(t, err)
	sealed, err := publish.Seal(lost, "partner", publish.Credentials{Password: "hush-hush"})
	require.NoError(t, err)
	require.NoError(t, b.store.PutDestination(t.Context(), settings.Editor{Actor: "x", Action: "x"}, "partner",
		func(d publishing.Destination, _ bool) (publishing.Destination, error) {
			d.Kind, d.Address, d.Login, d.Credentials = "ftps", "files.example.com:21", "adsync", sealed
			return d, nil
		}))
	path := destinationsPath + "/partner"
	require.True(t, answerOf[client.Destination](b, http.MethodGet, path, "").HasCredentials)
	require.Contains(t, b.conflict(http.MethodPut, path, `{"prefix": "in"}`), "Its credentials cannot be read")
	require.Contains(t, answerOf[client.DestinationTest](b, http.MethodPost, path+"/test", "").Detail, "credentials")
	require.Equal(t, "in", answerOf[client.Destination](b, http.MethodPut, path,
		`{"prefix": "in", "password": "new"}`).Prefix)
}

// A database refuses texts that are not UTF-8.
func TestReports_NamesThatAreNotTextAreNotFound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, name := range []string{"%ff", "a%c3", "%ed%a0%80"} {
		for _, call := range [][2]string{
			{http.MethodGet, "/api/v1/destinations/" + name}, {http.MethodDelete, "/api/v1/destinations/" + name},
			{http.MethodPost, "/api/v1/destinations/" + name + "/test"}, {http.MethodGet, "/api/v1/subscriptions/" + name},
			{http.MethodDelete, "/api/v1/subscriptions/" + name}, {http.MethodGet, "/api/v1/publications/" + name},
			{http.MethodPost, "/api/v1/publications/" + name + "/redeliver"},
			{http.MethodPost, "/api/v1/publications/" + name + "/cancel"},
		} {
			require.Equal(t, http.StatusNotFound, b.call(call[0], call[1], "", adminToken).Code, call)
		}
		require.Equal(t, http.StatusNotFound, b.call(http.MethodPost, "/api/v1/subscriptions/"+name+"/publications",
			`{"from": "2026-11-20", "to": "2026-11-20"}`, adminToken).Code)
		for path, body := range map[string]string{"destinations": `{"kind": "dir", "address": "/srv"}`,
			"subscriptions": aSubscription} {
			require.Equal(t, http.StatusBadRequest, b.call(http.MethodPut, "/api/v1/"+path+"/"+name, body, adminToken).Code)
		}
	}
	require.Empty(t, b.auditText())
}
