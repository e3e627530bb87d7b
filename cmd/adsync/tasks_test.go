package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/engine"
	"adsync/upkeep"
)

// deployment starts a deployment with two simulated accounts of each platform, and returns the environment for commands
// that call its API. Its tasks are disabled. The simulated platforms are a separate process.
func deployment(t *testing.T) (environ []string, deployed, platforms *process) {
	t.Helper()
	platforms = start(t, nil, "simulate", "--listen=127.0.0.1:0", fmt.Sprint("--accounts=", 2*len(engine.PlatformNames())))
	simulator := "http://" + platforms.await(t, "msg", served)["addr"].(string)
	const token = "the token of otto, who is an admin"
	environ = append(serveEnviron(t),
		platformsAt(t, simulator),
		`ADSYNC_API_TOKENS=[{"name": "otto", "token": "`+token+`", "role": "admin"}]`, "ADSYNC_TOKEN="+token)
	r := adsync(environ, "bind", "--simulator", simulator)
	require.Zero(t, r.code, r.stderr)
	require.NoError(t, openStore(t, environ).Config.Writer(t.Context()).Exec("UPDATE cron_task SET enabled = 0").Error)
	deployed = start(t, environ, "serve", "--role=all")
	server := "http://" + deployed.await(t, "msg", "listening")["addr"].(string)
	deployed.await(t, "part", "api")
	return append(environ, "ADSYNC_SERVER="+server), deployed, platforms
}

// A task is created, changed and run, and other commands show it and its runs.
func TestTasks_AgainstADeployment(t *testing.T) {
	t.Parallel()
	environ, deployed, platforms := deployment(t)
	// output returns what a command that succeeds prints.
	output := func(args ...string) string {
		t.Helper()
		r := adsync(environ, args...)
		require.Zero(t, r.code, "%s%s", r.stdout, r.stderr)
		return r.stdout
	}
	// errorOf returns what a command that ends with an exit code prints on stderr.
	errorOf := func(code int, args ...string) string {
		t.Helper()
		r := adsync(environ, args...)
		require.Equal(t, code, r.code, r.stdout)
		return r.stderr
	}
	report, list := onePlatform+".report_daily", onePlatform+"."+engine.Platforms()[0].Lists()[0].Name
	name := report + ".second_look"
	create := []string{"tasks", "create", "--name", name, "--media", onePlatform, "--handler", report, "--params",
		`{"level": "account", "days": 3}`, "--timezone=Asia/Shanghai"}

	refusal := errorOf(exitUsage, append(create, "--cron=every day", "--lane=fast")...)
	require.Contains(t, refusal,
		"adsync: The request has values that cannot be used:\n  cron: \"every day\" is refused: want ")
	require.Contains(t, refusal, "\n  lane: \"fast\" is refused: want ")
	require.Regexp(t, `^Created `+name+`: it runs next at \S+Z \(revision 1\)\.\n$`,
		output(append(create, "--cron=~ 14 * * *")...))
	require.Contains(t, errorOf(exitFailure, append(create, "--cron=~ 14 * * *")...), "There is a task")
	require.Regexp(t, `(?m)^`+name+` +on +normal +~ 14 \* \* \* Asia/Shanghai +\S+Z +- +-$`, output("tasks", "list"))
	require.Equal(t, "Switched off "+name+": it is off (revision 2).\n", output("tasks", "disable", name))

	require.Contains(t, errorOf(exitUsage, "tasks", "edit", name, "--cron=every hour"),
		"\n  cron: \"every hour\" is refused: want ")
	require.Equal(t, "Changed "+name+": it is off (revision 3).\n",
		output("tasks", "edit", name, "--cron=~ 15 * * *", "--retry-max=0"))
	require.Contains(t, output("tasks", "create", "--name=a.warning", "--media", onePlatform, "--handler", list,
		"--cron=*/7 * * * *", "--enabled=false"),
		"Warning: minute \"*/7\": the step 7 does not divide")
	require.Contains(t, output("tasks", "show", "a.warning"), "Warning: minute")
	require.Contains(t, output("tasks", "reload"), "The cron of a.warning is probably a mistake.\nWarning: minute")
	require.Contains(t, errorOf(exitFailure, "tasks", "edit", name, "--cron=~ 16 * * *", "--revision=2"),
		"another caller has changed it")
	file := filepath.Join(t.TempDir(), "task.json")
	require.NoError(t,
		os.WriteFile(file, []byte(strings.Replace(output("tasks", "show", name, "--output=json"), "~ 15 * * *",
			"~ 17 * * *", 1)), 0o600))
	require.Contains(t, errorOf(exitUsage, "tasks", "edit", "system.summary", "--file", file), "a task keeps its name")
	require.Contains(t, output("tasks", "edit", name, "--file", file, "--fan-out-rate=100"), "(revision 4)")
	require.Contains(t, errorOf(exitFailure, "tasks", "edit", name, "--file", file), "now has the revision 4, not 3")
	require.Contains(t, output("tasks", "create", "--file", file, "--name=a.copy", "--after", name, "--cron="),
		"Created a.copy: it is off (revision 1).")
	require.Contains(t, output("tasks", "enable", "a.copy"), "it runs after "+name)
	require.Contains(t, output("tasks", "enable", name), "Switched on "+name+": it runs next at ")
	shown := output("tasks", "show", name)
	for _, line := range []string{"runs +~ 17 \\* \\* \\* Asia/Shanghai", "handler +" + report + " of " + onePlatform,
		`params +{.*"level":"account".*}`, "retries +none", "fan-out +100 subtasks a second", "revision +5", "NEXT TICK"} {
		require.Regexp(t, "(?m)^"+line+"$", shown)
	}

	require.Contains(t, errorOf(exitUsage, "tasks", "run", name, "--accounts=7000000"),
		`accounts: "7000000" is not a known account of `+onePlatform)
	require.Contains(t, output("tasks", "run", name, "--all", "--dry-run"), "It would be 2 subtasks of "+name+", ")
	require.Equal(t, "There are no such runs.\n", output("runs", "list", "--task", name))
	ran := output("tasks", "run", name, "--all", "--wait")
	require.Regexp(t, `(?m)^state +succeeded$`, ran)
	require.Regexp(t, `(?m)^  succeeded +2$`, ran)
	id := regexp.MustCompile(`^Ordered run (\d+) of `).FindStringSubmatch(ran)[1]
	require.Regexp(t, `(?m)^`+id+` +`+name+` +order +succeeded +\S+Z +\S+Z +2 +2 +0 +the whole scope, by otto$`,
		output("runs", "list", "--task", name, "--state=succeeded"))
	require.Regexp(t, `(?m)^rate +\S+ subtasks a second$`, output("runs", "show", id, "--watch"))
	require.Contains(t, errorOf(exitFailure, "runs", "rerun", id), "No subtask of run "+id+" has failed")

	var listed struct {
		Subtasks []struct {
			AccountID string `json:"account_id"`
			Account   string
			Part      string
		}
	}
	require.NoError(t, json.Unmarshal([]byte(output("subtasks", "list", "--run", id, "--output=json")), &listed))
	require.Len(t, listed.Subtasks, 2)
	one := listed.Subtasks[0]
	line := `(?m)^` + id + ` +` + one.AccountID + ` +` + regexp.QuoteMeta(one.Part) + ` +` + name + ` +` + one.Account +
		` +succeeded +0 +`
	require.Regexp(t, line, output("subtasks", "list", "--run", id, "--limit=1"))
	require.Contains(t, output("subtasks", "list", "--run", id, "--limit=1"), "There are more")
	require.Regexp(t, line, output("subtasks", "list", "--account="+onePlatform+"/"+one.Account, "--since=1h"))
	require.Equal(t, "There are no such subtasks.\n",
		output("subtasks", "list", "--account="+onePlatform+"/"+one.Account, "--until=1h"))
	require.Regexp(t, `(?m)^state +succeeded$`, output("subtasks", "wait", id, one.AccountID, one.Part))
	require.Equal(t, "No subtask waits to be sent again.\n", output("subtasks", "due", "--state=deferred"))

	require.Regexp(t, `(?m)^`+onePlatform+` \S+ +app \d+ +\d+ calls per \S+ +\d+ `,
		output("limits", "--media", onePlatform))
	require.Regexp(t, `(?m)^\S+ +\S+ +\S+Z +\ds ago +`+slices.Min(append(engine.PlatformNames(), upkeep.Name))+
		` +important +0 +\d+ `, output("consumers"))
	require.Regexp(t, `(?m)^`+onePlatform+`/`+one.Account+` +active +pulled +\d+ +ok +\d of \d+ +\S+Z `,
		output("accounts", "list", "--media", onePlatform, "--login-state=ok"))
	require.Equal(t, "There are no such accounts.\n", output("accounts", "list", "--state=parked"))
	require.Regexp(t, `(?m)^`+onePlatform+` +2 +`, output("overview"))

	// An edit by SQL with a wrong cron: the task keeps its last good row.
	require.NoError(t, openStore(t, environ).Config.Writer(t.Context()).Exec(
		"UPDATE cron_task SET cron = 'never', revision = revision + 1 WHERE name = ?", name).Error)
	reloaded := output("tasks", "reload")
	require.Contains(t, reloaded, "The row of "+name+
		" cannot be used, and the task runs with its last good settings:\nWRONG FIELD  VALUE  WANT\ncron         never  ")
	require.Regexp(t, `(?m)^state +on, with its last good settings$`, output("tasks", "show", name))
	require.Contains(t, output("tasks", "edit", name, "--cron=~ 18 * * *"), "it runs next at ",
		"the revision is that of the row")

	audit := output("audit", "--object=cron_task/"+name, "--since=1h")
	require.Regexp(t, `(?m)^\S+Z +otto +task.edit +cron_task/`+name+` +cron: "never" → "~ 18 \* \* \*", revision: 6 → 7$`,
		audit)
	require.Regexp(t, `(?m)^\S+Z +sql +row.update +cron_task/`+name+` +cron: "~ 17 \* \* \*" → "never", `, audit)
	require.Regexp(t, `(?m)^\S+Z +otto +task.run +cron_task/`+name+` +{"run_id":"`+id, audit)
	require.Equal(t, "There are no such entries.\n", output("audit", "--actor=vera"))

	// A run that fails, because the platforms have ended.
	platforms.stop(t, syscall.SIGTERM)
	r := adsync(environ, "tasks", "run", name, "--accounts", one.Account, "--wait")
	require.Equal(t, exitFailure, r.code, r.stdout)
	id = regexp.MustCompile(`^Ordered run (\d+) of `).FindStringSubmatch(r.stdout)[1]
	require.Contains(t, r.stdout, "To redrive it: adsync runs rerun "+id)
	require.Contains(t, r.stderr, "the run "+id+" has ended as failed, and 1 of its 1 subtask was not done")
	require.Contains(t, output("runs", "rerun", id, "--rate=10"), "1 dead subtask, about ")
	require.Contains(t, output("runs", "rerun", id), "Nothing was changed: add --yes to do it.")
	require.Regexp(t, `(?m)^Ordered run \d+ of `+name+`\.$`, output("runs", "rerun", id, "--yes"))
	require.Equal(t, "Nothing was cancelled.\n", output("cancels"))
	output("cancel", "task", name, "--reason=wrong days")
	require.Regexp(t, `(?m)^\d+ +task +`+name+` +active +\S+Z +- +otto +wrong days$`, output("cancels", "--limit=1"))
	deployed.stop(t, syscall.SIGTERM)
}

func TestTasks_RefuseAWrongCommandLine(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "task.json")
	require.NoError(t, os.WriteFile(file, []byte(`["a task"]`), 0o600))
	for want, args := range map[string][]string{
		`there is no command "lsit"; did you mean edit or list?`:            {"tasks", "lsit"},
		`want the name of a task: "adsync tasks list" lists them`:           {"tasks", "show"},
		"want the new task's name: --name, or name in --file":               {"tasks", "create", "--cron=* * * * *"},
		`"a.task" is too much: only flags go here`:                          {"tasks", "create", "a.task"},
		"--file " + file + " is not a task: the JSON is of a wrong type":    {"tasks", "create", "--file", file},
		`--params is "level": invalid character`:                            {"tasks", "edit", "a.task", "--params=level"},
		"nothing is to be changed: give a field, such as --cron, or --file": {"tasks", "edit", "a.task", "--revision=3"},
		"--accounts is empty: want the platform's ids":                      {"tasks", "run", "a.task", "--accounts="},
		"want --accounts with the platform's ids, or --all for":             {"tasks", "run", "a.task", "--wait"},
		"--accounts and --all do not go together": {"tasks", "run", "a.task", "--all",
			"--accounts=1"},
		"--order wants --media, or --all for all platforms": {"coverage", "holes", "--order"},
		"--media and --all do not go together": {"coverage", "holes", "--order", "--all",
			"--media=tulip"},
		"want a filter, such as --task, or --all for every dead subtask": {"dead", "redrive", "--until=24h"},
		"--all does not go with a filter":                                {"dead", "drop", "--all", "--task=a.task"},
		"--task is empty: want a value":                                  {"dead", "drop", "--task=", "--media=tulip"},
		"--dry-run and --wait do not go together": {"tasks", "run", "a.task", "--all", "--dry-run",
			"--wait"},
		`--output is "xml": want table or json`: {"tasks", "run", "a.task", "--all", "--wait",
			"--output=xml"},
		`want the id of a run: "adsync runs list" lists them`: {"runs", "show"},
		"--limit is 0: want 1 or more":                        {"runs", "list", "--limit=0"},
		"--dry-run and --yes do not go together":              {"runs", "rerun", "1", "--dry-run", "--yes"},
		"want --run ID or --account MEDIA/ACCOUNT":            {"subtasks", "list"},
		"want --run ID or --account MEDIA/ACCOUNT\n": {"subtasks", "list", "--run=1",
			"--account=tulip/1"},
		"--since and --until go with --account":                        {"subtasks", "list", "--run=1", "--since=1h"},
		`--account is "x": want MEDIA/ACCOUNT with the platform's id`:  {"subtasks", "list", "--account=x"},
		`or RUN ACCOUNT_ID PART, as "adsync subtasks list" shows them`: {"subtasks", "wait", "1", "2"},
		`invalid argument "many" for "--retry-max" flag`:               {"tasks", "edit", "a.task", "--retry-max=many"},
		"--limit is -1: want 1 or more":                                {"audit", "--limit=-1"},
		`"now" is too much: only flags go here`:                        {"overview", "now"},
	} {
		r := adsync(nil, args...)
		require.Equal(t, exitUsage, r.code, args)
		require.Contains(t, r.stderr, want)
	}
	r := adsync(nil, "tasks", "create", "--file", filepath.Join(t.TempDir(), "none"))
	require.Equal(t, exitFailure, r.code)
	require.Contains(t, r.stderr, "no such file")
}

func TestTasksDelete_DeletesOnlyWithYes(t *testing.T) {
	t.Parallel()
	stdout, request := sent(t, `{"name": "a.one", "status": "good", "handler": "tulip.adgroup"}`,
		"tasks", "delete", "a.one")
	require.Equal(t, "GET /api/v1/tasks/a.one ", request)
	require.Contains(t, stdout, "\nNothing was changed: add --yes to delete it.\n")
	stdout, request = sent(t, `{"id": "1", "name": "a.one", "open_runs": ["100", "101"]}`,
		"tasks", "delete", "a.one", "--yes")
	require.Equal(t, "DELETE /api/v1/tasks/a.one ", request)
	require.Equal(t, "Deleted the task a.one.\n2 open runs continue to the end: 100, 101\n", stdout)
}
