package operate

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"adsync/base/strictjson"
	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/usage"
)

const tasksPath = "/api/v1/tasks"

func newTasks(a *settings.Source) *cobra.Command {
	cmd := usage.Group(&cobra.Command{
		Use:   "tasks",
		Short: "Shows, changes and runs tasks",
		Long: `A task is a row of cron_task: what is pulled, when, for which accounts, and how important it is. A change is
checked before it is saved, and takes effect within a few seconds. These commands call a producer's API. If it
needs a token, set ` + settings.TokenVariable + `.`,
		Example: `  adsync tasks list
  adsync tasks edit {media}.report_daily.account --cron '*/5 * * * *'
  adsync tasks run {media}.report_daily.account --accounts 20000001 --from 2026-11-18 --to 2026-11-20 --wait`,
	})
	cmd.AddCommand(newTasksList(a), newTasksShow(a), newTasksCreate(a), newTasksEdit(a), newTasksEnable(a),
		newTasksDisable(a), newTasksDelete(a), newTasksRun(a), newTasksReload(a))
	return cmd
}

// taskArg takes the name of a task.
var taskArg = usage.Args(1, `the name of a task: "adsync tasks list" lists them`)

func taskPath(name string) string { return tasksPath + "/" + url.PathEscape(name) }

// taskSwitchCommand makes cmd a command that switches a task on or off.
func taskSwitchCommand(a *settings.Source, action, state string, cmd *cobra.Command) *cobra.Command {
	cmd.Args = taskArg
	return api.Command(a, cmd, func(r *api.Request, args []string) error {
		return api.Send(r, http.MethodPost, taskPath(args[0])+"/"+action, nil, show.ChangedTask("Switched "+state))
	})
}

// taskFields are the fields of a task that can be set, by the names of their flags. The JSON name has _ for each -.
var taskFields = []struct {
	flag, usage string
	kind        string // text, number, switch, list or json
}{
	{"enabled", "whether it has ticks; =false switches it off", "switch"},
	{"media", "the platform, or system", "text"},
	{"handler", "what it does, such as {media}.report_daily", "text"},
	{"params", `the handler's parameters as JSON, such as '{"level": "account", "days": 3}'; null for none`, "json"},
	{"cron", "when it runs, such as '*/10 * * * *' or '~ 3 * * *' for a minute that adsync picks", "text"},
	{"timezone", "the zone of the cron, such as Asia/Shanghai", "text"},
	{"lane", "how important it is: a lane's name", "text"},
	{"scope", "the tiers of accounts, such as active,inactive, or all", "text"},
	{"timeout-seconds", "how long one attempt of a subtask may run", "number"},
	{"ttl-seconds", "how old a subtask may become before it expires; 0 for never", "number"},
	{"retry-max", "how often a subtask is retried", "number"},
	{"retry-base-seconds", "the pause before the first retry", "number"},
	{"overlap", "what to do when a run is due and the one before is open: skip, queue or replace", "text"},
	{"catch-up", "which missed ticks are run: none, latest or all", "text"},
	{"catch-up-window-seconds", "how old a missed tick may be", "number"},
	{"catch-up-order", "oldest_first or newest_first", "text"},
	{"catch-up-spread-seconds", "the pause between two missed ticks that are run", "number"},
	{"concurrency", "parallel, serial or exclusive", "text"},
	{"serial-key", "the key of serial subtasks over all tasks, such as {cube}; empty for the account", "text"},
	{"exclusive-over", "what an exclusive subtask blocks: its lane, its platform or everything", "text"},
	{"exclusive-max-seconds", "how long an exclusive subtask may block others from its start", "number"},
	{"exclusive-drain-seconds", "how long it may block others until they are idle", "number"},
	{"fan-out-rate", "subtasks a second; 0 for no limit", "number"},
	{"application", "who follows its outcomes in Kafka; empty for nobody", "text"},
	{"after", "the tasks after which it runs, instead of a cron, such as a.task,another.task", "list"},
}

// shownOnly are what "adsync tasks show" prints of a task in addition to its fields.
var shownOnly = []string{"id", "status", "errors", "row_revision", "next_ticks", "last_ticks"}

// taskChangeCommand makes cmd a command that changes a task: do gets the fields of the request from --file and the
// flags.
func taskChangeCommand(a *settings.Source, cmd *cobra.Command,
	do func(r *api.Request, body map[string]json.RawMessage, args []string) error) *cobra.Command {
	var file string
	api.Command(a, cmd, func(r *api.Request, args []string) error {
		body, err := givenFields(cmd, file)
		if err != nil {
			return err
		}
		return do(r, body, args)
	})
	flags := cmd.Flags()
	flags.StringVar(&file, "file", "",
		`a file with the task as JSON, as "adsync tasks show --output json" prints it, or - for standard input; flags win`)
	for _, field := range taskFields { // A field that is not given keeps its value, or has the default of its column.
		switch field.kind {
		case "number":
			flags.Int64(field.flag, 0, field.usage)
		case "switch":
			flags.Bool(field.flag, false, field.usage)
		case "list":
			flags.StringSlice(field.flag, nil, field.usage)
		default:
			flags.String(field.flag, "", field.usage)
			api.AllowEmpty(cmd, field.flag)
		}
	}
	return cmd
}

// givenFields reads the file and the flags into the fields of a request. The revision in the file is the row's. It
// differs from the revision that runs if the row cannot be used.
func givenFields(cmd *cobra.Command, file string) (map[string]json.RawMessage, error) {
	body := map[string]json.RawMessage{}
	if file != "" {
		text, err := readFile(cmd.InOrStdin(), file)
		if err != nil {
			return nil, err
		}
		if err := strictjson.Unmarshal(text, &body); err != nil {
			return nil,
				usage.Errorf(
					"--file %s is not a task: %v: want a JSON object, as \"adsync tasks show NAME --output json\" prints it", file,
					err)
		}
		if revision, ok := body["row_revision"]; ok {
			body["revision"] = revision
		}
		maps.DeleteFunc(body, func(name string, _ json.RawMessage) bool { return slices.Contains(shownOnly, name) })
	}
	flags := cmd.Flags()
	for _, field := range taskFields {
		if !flags.Changed(field.flag) {
			continue
		}
		var value any
		var err error
		switch field.kind {
		case "number":
			value, err = flags.GetInt64(field.flag)
		case "switch":
			value, err = flags.GetBool(field.flag)
		case "list":
			value, err = flags.GetStringSlice(field.flag)
		case "json":
			text, _ := flags.GetString(field.flag)
			value, err = jsonFlag(field.flag, text)
		default:
			value, err = flags.GetString(field.flag)
		}
		if err != nil {
			return nil, err
		}
		if body[strings.ReplaceAll(field.flag, "-", "_")], err = json.Marshal(value); err != nil {
			return nil, err
		}
	}
	return body, nil
}

// readFile reads a file, or standard input for -.
func readFile(in io.Reader, name string) ([]byte, error) {
	if name == "-" {
		text, err := io.ReadAll(in)
		if err != nil {
			return nil, fmt.Errorf("read standard input: %w", err)
		}
		return text, nil
	}
	return os.ReadFile(name)
}

// jsonFlag returns the value of a flag that holds JSON.
func jsonFlag(flag, text string) (json.RawMessage, error) {
	if err := strictjson.Unmarshal([]byte(text), new(any)); err != nil {
		return nil, usage.Errorf("--%s is %q: %v: want JSON, such as {\"level\": \"account\"}", flag, text, err)
	}
	return json.RawMessage(text), nil
}
