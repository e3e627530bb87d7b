package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/task"
	"adsync/cmd/adsync/internal/settings"
	"adsync/engine"
)

// openStore opens the databases of an environment.
func openStore(t *testing.T, environ []string) *store.Store {
	t.Helper()
	database := func(name string) sqldb.Database {
		return sqldb.Database{Driver: sqldb.SQLite, Writer: secret.NewText(settings.Variable(environ, "ADSYNC_STORE_"+name+
			"_WRITER")), MaxOpenConns: 4}
	}
	s, err := store.Open(t.Context(), sqldb.Config{Config: database("CONFIG"), Data: database("DATA")},
		slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// Against a leading producer, dead subtasks are listed, redriven in a run, and dropped.
func TestDead_AgainstAProducer(t *testing.T) {
	t.Parallel()
	platform := engine.PlatformNames()[0]
	environ := serveEnviron(t)
	s := openStore(t, environ)
	ctx := t.Context()
	var taskID int64
	require.NoError(t, s.Config.Writer(ctx).Raw("SELECT id FROM cron_task WHERE name = '"+platform+
		".report_daily.account'").Row().Scan(&taskID))
	require.NoError(t, s.Config.Writer(ctx).Exec("UPDATE cron_task SET enabled = 0").Error)
	died := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	var runID int64
	for account := int64(1); account <= 3; account++ {
		require.NoError(t,
			s.Config.Writer(ctx).Exec("INSERT INTO media_account (id, media, external_id, token_id) VALUES (?, '"+platform+
				"', ?, 1)", account, fmt.Sprint("900", account)).Error)
		runID = task.NewRunID(died)
		require.NoError(t,
			s.Data.Writer(ctx).Exec(
				`INSERT INTO subtask_dead (run_id, account_id, part, task_id, media, attempt, error_class,
	error_print, error_text, dead_at)
VALUES (?, ?, '2024-05-05', ?, '`+platform+`', 5, 'invalid', 'account ? is ?', ?, ?)`, runID, account, taskID,
				fmt.Sprintf("account 900%d is\x1b[2J 'closed'", account),
				sqldb.At(died.Add(time.Duration(account)*time.Second))).Error)
	}
	// The third has been pulled whole since it died; the first spent 12.50 yesterday.
	require.NoError(t,
		s.Data.Writer(ctx).Exec(
			"INSERT INTO coverage (account_id, report, level, day, media, pulled_at, complete_version, state) VALUES (3, "+
				"'report_daily', 'account', '2024-05-05', '"+platform+"', ?, ?, 'complete')",
			sqldb.At(died.Add(time.Hour)), died.Add(time.Hour).UnixMicro()).Error)
	require.NoError(t,
		s.Data.Writer(ctx).Exec(
			"INSERT INTO report_daily (day, account_id, level, object_id, media, currency, day_zone, cost, version, "+
				"updated_at) VALUES (?, 1, 'account', '', '"+platform+"', 'CNY', 'UTC', 12500000, 1, ?)",
			time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly), sqldb.At(died)).Error)
	p := start(t, environ, "serve", "--role=producer")
	server := "http://" + p.await(t, "msg", "listening")["addr"].(string)
	p.await(t, "part", "api")
	dead := func(args ...string) string {
		r := adsync(append(environ, "ADSYNC_SERVER="+server), append([]string{"dead"}, args...)...)
		require.Zero(t, r.code, r.stderr)
		return r.stdout
	}

	groups := strings.Split(dead("list"), "\n")
	require.Regexp(t, `^COUNT +HEALED +FIRST +LAST +CLASS +TASKS +ERROR PRINT$`, groups[0])
	require.Regexp(t, `^3 +1 +2024-05-06T07:08:10Z +2024-05-06T07:08:12Z +invalid +`+platform+
		`.report_daily.account +account \? is \?$`, groups[1])
	require.Equal(t, []string{"", "3 dead subtasks.",
		"Of them, 1 healed and 2 need attention: of 2 accounts, which spend CNY 12.50 in a day.", ""}, groups[2:])
	rows := strings.Split(dead("list", "--rows", "--limit=1", "--since", "2024-05-01T00:00:00Z"), "\n")
	require.Regexp(t, `^2024-05-06T07:08:12Z +`+fmt.Sprint(runID)+
		` +3 +2024-05-05 +.* 9003 +5 +invalid, healed +account 9003 is \[2J 'closed'$`, rows[1])
	require.Contains(t, rows[3], "There are more")
	var listed struct{ Dead []map[string]any }
	require.NoError(t, json.Unmarshal([]byte(dead("list", "--rows", "--limit=2", "--output=json")), &listed))
	require.Len(t, listed.Dead, 2)
	require.Contains(t, dead("list", "--since=1h"), "There are no dead subtasks.")

	shown := dead("show", fmt.Sprint(runID), "3", "2024-05-05")
	require.Regexp(t, `(?m)^account +9003 \(our id 3\), `+platform+`$`, shown)
	require.Regexp(t, `(?m)^died +2024-05-06T07:08:12Z, after 5 failures$`, shown)
	require.Regexp(t, `(?m)^log +its day's table was dropped$`, shown)

	dry := dead("redrive", "--media="+platform, "--account=9002")
	require.Regexp(t, `(?m)^`+platform+`.report_daily.account +1 +unknown +unknown +-$`, dry)
	require.Contains(t, dry, "1 dead subtask, its API calls and time are not known yet.")
	require.Contains(t, dry, "Nothing was changed: add --yes to do it.")
	require.Contains(t, dead("redrive", "--media="+platform, "--account=9002", "--rate=10"), "about 1s.")
	require.Contains(t, dead("list"), "3 dead subtasks.")

	require.Contains(t, dead("redrive", "--media="+platform),
		"3 dead subtasks, its API calls and time are not known yet.\n1 has healed: its days")
	require.NotContains(t, dead("redrive", "--account="+platform+"/9002"), "healed")

	done := dead("redrive", "--task="+platform+".report_daily.account", "--account=9002", "--yes")
	require.Regexp(t, `(?m)^Ordered run \d+ of `+platform+`.report_daily.account.$`, done)
	run := done[strings.Index(done, "Ordered run ")+len("Ordered run "):]
	run, _, _ = strings.Cut(run, " ")
	require.Eventually(t, func() bool {
		_, body := get(t, server+"/api/v1/runs/"+run)
		return strings.Contains(body, `"total":1`) && strings.Contains(body, `"redrive":true`)
	}, time.Minute, 100*time.Millisecond, "the leader takes it up")
	require.Contains(t, dead("list"), "3 dead subtasks, 1 of them being redriven.", "until somebody has done it")

	require.Contains(t, dead("drop", "--all"), "2 dead subtasks.")
	var dropped struct{ Dropped int }
	require.NoError(t, json.Unmarshal([]byte(dead("drop", "--all", "--yes", "--output=json")), &dropped))
	require.Equal(t, 2, dropped.Dropped)
	require.Contains(t, dead("drop", "--all", "--yes"), "No dead subtask is selected.")

	r := adsync(environ, "dead", "drop", "--yes", "--server", server)
	require.Equal(t, exitUsage, r.code)
	require.Contains(t, r.stderr, "want a filter, such as --task, or --all for every dead subtask")
	r = adsync(environ, "dead", "show", "1", "0", "x", "--server", server)
	require.Equal(t, exitFailure, r.code)
	require.Contains(t, r.stderr, "There is no such dead subtask")
	p.stop(t, syscall.SIGTERM)

	r = adsync(environ, "dead", "list", "--server", server)
	require.Equal(t, exitFailure, r.code)
	require.Contains(t, r.stderr, "is it running, and is --server right?")
}

func TestDead_RefusesAWrongCommandLine(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		`--server is "here": want the address of a producer, as http://host:port`: {"list", "--server", "here"},
		`--output is "xml": want table or json`:                                   {"list", "--output", "xml"},
		`--limit is 501: want 1 or more, and up to 500 without --rows`:            {"list", "--limit", "501"},
		`want RUN ACCOUNT_ID PART, as "adsync dead list --rows" shows them`:       {"show", "1", "2"},
		`there is no command "lsit"; did you mean list?`:                          {"lsit"},
	} {
		r := adsync(nil, append([]string{"dead"}, args...)...)
		require.Equal(t, exitUsage, r.code, r.stderr)
		require.Contains(t, r.stderr, want)
	}
	r := adsync([]string{"ADSYNC_SERVER=ftp://x"}, "dead", "list")
	require.Equal(t, exitUsage, r.code)
	require.Contains(t, r.stderr, `ADSYNC_SERVER is "ftp://x"`)
	// Without either it is the address of api.listen.
	r = adsync([]string{"ADSYNC_API_LISTEN=127.0.0.1:1"}, "dead", "list")
	require.Equal(t, exitFailure, r.code)
	require.Contains(t, r.stderr, "call the producer at http://127.0.0.1:1: ")
}
