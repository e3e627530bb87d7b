package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	aDestination = `{"name": "partner", "kind": "sftp", "address": "files.example.com:22", "prefix": "in",
  "login": "adsync", "has_credentials": true, "host_key": "ssh-ed25519 AAAA\nssh-rsa BBBB", "ca": "",
  "options": {"connections": 2}, "enabled": false, "subscriptions": ["spend", "other"]}`
	aSubscription = `{"name": "spend", "query": "SELECT day\nFROM summary_daily", "scope": {"games": ["chess", "go"]},
  "format": {"format": "csv"}, "path": "spend/{day}{ext}", "destination": "partner", "cron": "30 9 * * *",
  "timezone": "Asia/Shanghai", "period": "day", "on_empty": "send", "on_exists": "replace", "verify": "readback",
  "manifest": true, "rows_max": 0, "completeness": {"when": "complete", "latest_minutes": 720, "parked": "name"},
  "corrections": {"every_minutes": 60, "days": 7}, "lane": "", "owner": "ada", "customer": "acme", "enabled": true,
  "application": "shop", "webhook": "https://reports.example.com/", "has_webhook_secret": true,
  "since": "2026-11-01T00:00:00Z", "error": ""}`
	aPublication = `{"id": "7", "subscription": "spend", "from": "2026-11-10", "to": "2026-11-16", "revision": 2,
  "sequence": 9, "destination": "partner", "name": "spend/w.csv", "customer": "acme", "state": "published", "rows": 12,
  "bytes": 800, "incomplete": true, "planned_at": "2026-11-17T01:30:00Z", "published_at": "2026-11-17T01:31:00Z",
  "missing": [{"media": "tulip", "account_id": 5, "report": "report_daily", "level": "account", "from": "2026-11-10",
  "to": "2026-11-11", "why": "never pulled", "parked": true}]}`
)

// reportCommand is a command about report files: the answer that it gets, the request that it sends, and a part of what
// it prints.
type reportCommand struct {
	args                 []string
	answer, asked, shown string
}

func (c reportCommand) check(t *testing.T) {
	t.Helper()
	stdout, asked := sent(t, c.answer, c.args...)
	require.Equal(t, c.asked, asked, c.args)
	require.Contains(t, stdout, c.shown, c.args)
	stdout, again := sent(t, c.answer, append(c.args, "--output", "json")...)
	require.Equal(t, c.asked, again)
	require.JSONEq(t, c.answer, stdout)
}

// fileWith returns the path of a file with a text.
func fileWith(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestDestinations_AreShownAndChanged(t *testing.T) {
	t.Parallel()
	for _, c := range []reportCommand{
		{
			[]string{"list"}, `{"destinations": [` + aDestination + `]}`, "GET /api/v1/destinations ",
			"partner      sftp  files.example.com:22  in      off    2\n",
		},
		{[]string{"list"}, `{"destinations": []}`, "GET /api/v1/destinations ", "There are no destinations.\n"},
		{
			[]string{"show", "partner"}, aDestination, "GET /api/v1/destinations/partner ",
			"credentials    stored, and not shown\nhost keys      ssh-ed25519 AAAA; ssh-rsa BBBB\n",
		},
		{
			[]string{"put", "partner", "--kind", "sftp", "--prefix", "", "--options", `{"connections": 2}`, "--enabled=false"},
			aDestination, `PUT /api/v1/destinations/partner ` +
				`{"enabled":false,"kind":"sftp","options":{"connections":2},"prefix":""}`, "off",
		},
		{
			[]string{"put", "partner", "--no-credentials"}, aDestination,
			`PUT /api/v1/destinations/partner {"key":"","password":""}`, "partner",
		},
		{
			[]string{"delete", "partner"}, aDestination, "DELETE /api/v1/destinations/partner ",
			"Deleted the destination partner. The files there stay.\n",
		},
		{
			[]string{"check", "partner"}, `{"ok": true, "detail": "It works."}`, "POST /api/v1/destinations/partner/test ",
			"It works.\n",
		},
		{
			[]string{"test", "partner"}, `{"ok": true, "detail": "It works."}`, "POST /api/v1/destinations/partner/test ",
			"It works.\n",
		},
	} {
		c.args = append([]string{"destinations"}, c.args...)
		c.check(t)
	}
}

// A secret is never an argument, and no message has a part of one.
func TestDestinations_SecretsComeFromFiles(t *testing.T) {
	t.Parallel()
	password, key, host := fileWith(t, "hush-hush\n"), fileWith(t, "PEM\n"), fileWith(t, "ssh-ed25519 AAAA\n")
	reportCommand{
		[]string{"destinations", "put", "partner", "--password-file", password, "--key-file", key, "--host-key-file", host,
			"--ca-file", fileWith(t, "")},
		aDestination, `PUT /api/v1/destinations/partner ` +
			`{"ca":"","host_key":"ssh-ed25519 AAAA\n","key":"PEM\n","password":"hush-hush"}`, "partner",
	}.check(t)
	for want, args := range map[string][]string{
		"nothing is to be changed":           {},
		"the password is empty":              {"--password-file", fileWith(t, "\n")},
		"the key is empty":                   {"--key-file", fileWith(t, "")},
		"--password-file is empty":           {"--password-file="},
		"only one file can be -":             {"--host-key-file=-", "--ca-file=-"},
		"does not go with --password-file":   {"--no-credentials", "--password-file", password},
		`want a JSON object, such as {"conn`: {"--options", "[1]"},
	} {
		r := adsync([]string{"ADSYNC_SERVER=http://127.0.0.1:1"},
			append([]string{"destinations", "put", "partner"}, args...)...)
		require.Equal(t, exitUsage, r.code, "%s: %s", args, r.stderr)
		require.Contains(t, r.stderr, want)
		require.NotContains(t, r.stderr, "hush-hush")
	}
}

func TestDestinationsCheck_FailsForOneThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"ok": false, "detail": "writing a file failed: disk full"}`)
	}))
	t.Cleanup(server.Close)
	for _, output := range []string{"table", "json"} {
		r := adsync([]string{"ADSYNC_SERVER=" + server.URL}, "destinations", "check", "partner", "--output", output)
		require.Equal(t, exitFailure, r.code)
		require.Contains(t, r.stderr, "the destination cannot be used: writing a file failed: disk full")
		require.Equal(t, output == "json", r.stdout != "")
	}
}

func TestSubscriptions_AreShownAndChanged(t *testing.T) {
	t.Parallel()
	yaml := fileWith(t, "name: spend\nquery: |\n  SELECT day\nformat: {format: csv}\ncron: 30 9 * * *\nrows_max: 5\n"+
		"completeness: {when: complete}\n")
	shown := fileWith(t, aSubscription)
	soldFiles := strings.Replace(aSubscription, `"query": "SELECT day\nFROM summary_daily"`, `"query": "",
	  "files": {"destination": "lake", "path": "sales/{day}/*", "done": "_SUCCESS",
	  "columns": [{"name": "amount", "as": "spend"}, {"name": "game"}]}`, 1)
	for _, c := range []reportCommand{
		{
			[]string{"list"}, `{"subscriptions": [` + aSubscription + `]}`, "GET /api/v1/subscriptions ",
			"spend         on     30 9 * * * Asia/Shanghai  day     partner      spend/{day}{ext}  acme\n",
		},
		{
			[]string{"show", "spend"}, aSubscription, "GET /api/v1/subscriptions/spend ",
			"waits         until the figures are whole, after 12h0m0s the file is sent incomplete; parked accounts are named, " +
				"and not waited for\ncorrections   at most every 1h0m0s, for 7 days\ngames         chess, go\n",
		},
		{
			[]string{"show", "spend"}, aSubscription, "GET /api/v1/subscriptions/spend ",
			"\nquery:\n  SELECT day\n  FROM summary_daily\n",
		},
		{
			[]string{"put", "spend", "--file", yaml, "--cron", "0 9 * * *", "--lane", "", "--manifest=false"}, aSubscription,
			`PUT /api/v1/subscriptions/spend {"completeness":{"when":"complete"},"cron":"0 9 * * *","format":{"format":"csv"},` +
				`"lane":"","manifest":false,"query":"SELECT day\n","rows_max":5}`, "spend",
		},
		{
			[]string{"put", "spend", "--query-file", fileWith(t, "SELECT 1"), "--corrections",
				`{"every_minutes": 5, "days": 1}`},
			aSubscription, `PUT /api/v1/subscriptions/spend {"corrections":{"every_minutes":5,"days":1},"query":"SELECT 1"}`,
			"spend",
		},
		{
			[]string{"put", "sold", "--files", `{"destination": "lake", "path": "{day}/*"}`}, soldFiles,
			`PUT /api/v1/subscriptions/sold {"files":{"destination":"lake","path":"{day}/*"}}`,
			"\nfiles:\n  destination  lake\n  path         sales/{day}/*\n  done         _SUCCESS\n" +
				"  column       amount as spend\n  column       game\n",
		},
		{
			[]string{"put", "spend", "--file", shown}, aSubscription,
			`PUT /api/v1/subscriptions/spend {"application":"shop",` +
				`"completeness":{"latest_minutes":720,"parked":"name","when":"complete"},` +
				`"corrections":{"days":7,"every_minutes":60},"cron":"30 9 * * *","customer":"acme","destination":"partner",` +
				`"enabled":true,"format":{"format":"csv"},"lane":"","manifest":true,"on_empty":"send","on_exists":"replace",` +
				`"owner":"ada","path":"spend/{day}{ext}","period":"day","query":"SELECT day\nFROM summary_daily","rows_max":0,` +
				`"scope":{"games":["chess","go"]},"timezone":"Asia/Shanghai","verify":"readback",` +
				`"webhook":"https://reports.example.com/"}`, "spend",
		},
		{
			[]string{"put", "spend", "--application", "shop"}, aSubscription,
			`PUT /api/v1/subscriptions/spend {"application":"shop"}`, "application   shop\n",
		},
		{
			[]string{"put", "spend", "--webhook", "https://reports.example.com/", "--webhook-secret-file",
				fileWith(t, "0123456789abcdef\n")}, aSubscription,
			`PUT /api/v1/subscriptions/spend {"webhook":"https://reports.example.com/","webhook_secret":"0123456789abcdef"}`,
			"webhook       https://reports.example.com/\n",
		},
		{
			[]string{"delete", "spend"}, aSubscription, "DELETE /api/v1/subscriptions/spend ",
			"Deleted the subscription spend. Its open files are cancelled within a minute or two.\n",
		},
	} {
		c.args = append([]string{"subscriptions"}, c.args...)
		c.check(t)
	}
	for want, args := range map[string][]string{
		"nothing is to be changed":         {"spend"},
		"is not a subscription":            {"spend", "--file", fileWith(t, "a: b: c")},
		"is the subscription spend: want ": {"other", "--file", yaml},
		"--format is \"csv\"":              {"spend", "--format", "csv"},
		"only one file can be -":           {"spend", "--file=-", "--query-file=-"},
		"want the name of a subscription":  {},
		"is empty: want 16 bytes or more":  {"spend", "--webhook-secret-file", fileWith(t, "\n")},
	} {
		r := adsync([]string{"ADSYNC_SERVER=http://127.0.0.1:1"}, append([]string{"subscriptions", "put"}, args...)...)
		require.Equal(t, exitUsage, r.code, "%s: %s", args, r.stderr)
		require.Contains(t, r.stderr, want)
	}
}

func TestPublications_AreShownAndOrdered(t *testing.T) {
	t.Parallel()
	const order = `{"publications": [{"id": "8", "subscription": "spend", "from": "2026-11-20", "to": "2026-11-20",
  "revision": 1, "sequence": 1, "destination": "partner", "name": "n.csv", "customer": "", "state": "planned",
  "incomplete": false, "planned_at": "2026-11-21T10:30:00Z"}], "ordered": `
	for _, c := range []reportCommand{
		{
			[]string{"show", "7"}, aPublication, "GET /api/v1/publications/7 ",
			"\nFigures that were missing when it was made:\n" +
				"MEDIA  ACCOUNT  REPORT        LEVEL    FROM        TO          WHY           PARKED\n" +
				"tulip  5        report_daily  account  2026-11-10  2026-11-11  never pulled  yes\n",
		},
		{
			[]string{"order", "spend", "--from", "2026-11-20", "--to", "2026-11-20", "--dry-run"}, order + "false}",
			`POST /api/v1/subscriptions/spend/publications {"from":"2026-11-20","to":"2026-11-20","dry_run":true}`,
			"spend         2026-11-20  1         planned  n.csv\n\nIt would be 1 file. Nothing was ordered.\n",
		},
		{
			[]string{"order", "spend", "--from", "2026-11-20", "--to", "2026-11-20"}, order + "true}",
			`POST /api/v1/subscriptions/spend/publications {"from":"2026-11-20","to":"2026-11-20"}`, "\nOrdered 1 file.\n",
		},
		{
			[]string{"redeliver", "7"}, aPublication, "POST /api/v1/publications/7/redeliver ",
			"Ordered again: revision 2 of spend for 2026-11-10 to 2026-11-16, spend/w.csv.\n",
		},
		{
			[]string{"cancel", "7"}, aPublication, "POST /api/v1/publications/7/cancel ",
			"Cancelled: revision 2 of spend for 2026-11-10 to 2026-11-16, spend/w.csv.\n",
		},
	} {
		c.args = append([]string{"publications"}, c.args...)
		c.check(t)
	}
	stdout, asked := sent(t, `{"publications": [`+aPublication+`], "next": ""}`, "publications", "list",
		"--subscription=spend", "--state=published", "--from=2026-11-01", "--to=2026-11-30", "--customer=acme",
		"--destination=partner", "--name=spend/w.csv", "--limit=5")
	require.Equal(t, "GET /api/v1/publications?customer=acme&destination=partner&from=2026-11-01&limit=5&"+
		"name=spend%2Fw.csv&state=published&subscription=spend&to=2026-11-30 ", asked)
	require.Contains(t, stdout, "7     spend         2026-11-10 to 2026-11-16  2         published, incomplete  12    800")
	require.Equal(t, exitUsage, adsync(nil, "publications", "order", "spend", "--from=2026-11-20").code)
	require.Equal(t, exitUsage, adsync(nil, "publications", "show").code)
}
