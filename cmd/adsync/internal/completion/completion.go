// Package completion has the shell complete command lines.
package completion

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"adsync/base/httpapi"
	"adsync/base/store/overview"
	storesettings "adsync/base/store/settings"
	"adsync/base/task"
	"adsync/client"
	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
	"adsync/engine"
	"adsync/upkeep"
)

// completionPatience is for how long the shell waits for names that the API knows.
const completionPatience = 3 * time.Second

var (
	// RunStates are the states of runs.
	RunStates = words(task.RunFanningOut, task.RunRunning, task.RunSucceeded, task.RunPartial, task.RunFailed, task.RunCancelled, task.RunSkipped, task.RunExpired)

	// SubtaskStates are the states of subtasks.
	SubtaskStates = words(task.Waiting, task.Retrying, task.Deferred, task.Succeeded, task.Failed, task.Expired, task.Cancelled, task.Superseded)

	// flagWords are what flags take, by their names, which mean the same in each command that has them.
	flagWords = map[string][]string{
		"catch-up":       words(task.CatchUpNone, task.CatchUpLatest, task.CatchUpAll),
		"catch-up-order": words(task.OldestFirst, task.NewestFirst),
		"class":          {"transient", "quota", "auth", "invalid", "bug"},
		"concurrency":    words(task.Parallel, task.Serial, task.Exclusive),
		"log-level":      logLevels,
		"login-state":    {storesettings.TokenOK, storesettings.TokenReauthorise, overview.LoginNone},
		"overlap":        words(task.OverlapSkip, task.OverlapQueue, task.OverlapReplace),
		"tier":           {storesettings.TierActive, storesettings.TierInactive, storesettings.TierInvalid},
	}
	// stateWords are what --state takes, by command.
	stateWords = map[string][]string{
		"adsync accounts list": words(overview.AccountPulled, overview.AccountParked, overview.AccountUnbound),
		"adsync fields list":   {"asked", "trying", "off", "retired", "refused"},
		"adsync reconcile":     {"open", "mended", "all"},
		"adsync runs list":     RunStates,
		"adsync subtasks due":  words(task.Retrying, task.Deferred),
		"adsync subtasks list": SubtaskStates,
	}
	// roleWords are what --role takes, by command.
	roleWords = map[string][]string{
		"adsync log-level": {"producer", "consumer", "all"},
		"adsync serve":     {"producer", "consumer", "all"},
		"adsync token new": words(httpapi.Viewer, httpapi.Operator, httpapi.Admin),
	}
	logLevels = []string{"debug", "info", "warn", "error"}
)

// words are texts of one kind as plain ones.
func words[T ~string](all ...T) []string {
	texts := make([]string, len(all))
	for i, w := range all {
		texts[i] = string(w)
	}
	return texts
}

// Complete has the shell complete what the command and those below it take: fixed words, and the names of tasks and lanes, for which the API
// is asked. Where nothing is known it offers nothing: files go with --config, --file and --data alone.
func Complete(a *settings.Source, cmd *cobra.Command) {
	path := cmd.CommandPath()
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if complete := flagCompletion(a, path, f); complete != nil {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // The flag is there, and nobody else has done so.
		}
	})
	cmd.ValidArgsFunction = argCompletion(a, path)
	for _, sub := range cmd.Commands() {
		Complete(a, sub)
	}
}

func flagCompletion(a *settings.Source, path string, f *pflag.Flag) cobra.CompletionFunc {
	all := flagWords[f.Name]
	switch f.Name {
	case "config", "data", "file":
		return nil // Files, which is what a shell offers by itself.
	case "media", "live":
		all = engine.PlatformNames()
		if strings.HasPrefix(path, "adsync tasks ") {
			all = append(all, upkeep.Name)
		}
	case "output":
		all = []string{f.DefValue, "json"} // table or text
	case "role":
		all = roleWords[path]
	case "state":
		all = stateWords[path]
	case "task":
		return taskNames(a)
	case "lane":
		return taskWords(a, func(k *client.Task) []string { return []string{k.Lane} })
	case "handler":
		return taskWords(a, func(k *client.Task) []string { return []string{k.Handler} })
	}
	return cobra.FixedCompletions(all, cobra.ShellCompDirectiveNoFileComp)
}

func argCompletion(a *settings.Source, path string) cobra.CompletionFunc {
	first := func(complete cobra.CompletionFunc) cobra.CompletionFunc {
		return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return complete(cmd, args, begun)
		}
	}
	platforms := cobra.FixedCompletions(engine.PlatformNames(), cobra.ShellCompDirectiveNoFileComp)
	switch path {
	case "adsync tasks show", "adsync tasks edit", "adsync tasks enable", "adsync tasks disable", "adsync tasks run":
		return first(taskNames(a))
	case "adsync pause", "adsync cancel":
		return stopTargetNames(a)
	case "adsync accounts show", "adsync bind account", "adsync changes", "adsync coverage", "adsync unbind":
		return first(accountBegins)
	case "adsync fields add", "adsync fields drop", "adsync fields reinstate":
		return first(platforms)
	case "adsync log-level":
		return first(cobra.FixedCompletions(logLevels, cobra.ShellCompDirectiveNoFileComp))
	}
	return cobra.NoFileCompletions
}

// stopTargetNames completes KIND TARGET.
func stopTargetNames(a *settings.Source) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		switch {
		case len(args) == 0:
			return []string{"run", "task", "account", "media"}, cobra.ShellCompDirectiveNoFileComp
		case len(args) > 1:
		case args[0] == "task":
			return taskNames(a)(cmd, args, begun)
		case args[0] == "media":
			return engine.PlatformNames(), cobra.ShellCompDirectiveNoFileComp
		case args[0] == "account":
			return accountBegins(cmd, args, begun)
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// accountBegins offers what accounts begin with: their ids are too many.
func accountBegins(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var all []string
	for _, name := range engine.PlatformNames() {
		all = append(all, name+"/")
	}
	return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

func taskNames(a *settings.Source) cobra.CompletionFunc {
	return taskWords(a, func(k *client.Task) []string { return []string{k.Name} })
}

// taskWords completes with words of the tasks. Whatever goes wrong, the shell offers nothing: it is no place for an error.
func taskWords(a *settings.Source, of func(*client.Task) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionPatience)
		defer cancel()
		server, _ := cmd.Flags().GetString("server") // A command without it has the API's address from elsewhere.
		var answer client.TaskList
		c, err := api.Reach(a, cmd, server)
		if err == nil {
			answer, err = c.ListTasks(ctx)
		}
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var all []string
		for i := range answer.Tasks {
			for _, word := range of(&answer.Tasks[i]) {
				if word = table.Clean(word); word != "" && strings.HasPrefix(word, begun) {
					all = append(all, word)
				}
			}
		}
		slices.Sort(all)
		return slices.Compact(all), cobra.ShellCompDirectiveNoFileComp
	}
}
