// Package completion completes command lines in a shell.
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
	"adsync/base/store/publishing"
	storesettings "adsync/base/store/settings"
	"adsync/base/task"
	"adsync/client"
	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
	"adsync/engine"
	"adsync/upkeep"
)

// completionTimeout is how long the shell waits for names from the API.
const completionTimeout = 3 * time.Second

var (
	// RunStates are the states of runs.
	RunStates = words(task.RunFanningOut, task.RunRunning, task.RunSucceeded, task.RunPartial, task.RunFailed,
		task.RunCancelled, task.RunSkipped, task.RunExpired)

	// SubtaskStates are the states of subtasks.
	SubtaskStates = words(task.Waiting, task.Retrying, task.Deferred, task.Succeeded, task.Failed, task.Expired,
		task.Cancelled, task.Superseded)

	// PublicationStates are the states of report files.
	PublicationStates = words(publishing.Waiting, publishing.Planned, publishing.Rendered, publishing.Uploaded,
		publishing.Verified, publishing.Visible, publishing.Published, publishing.Failed, publishing.Cancelled,
		publishing.Superseded, publishing.Empty)

	// flagWords are the values of flags, by name. Such a flag means the same in each command.
	flagWords = map[string][]string{
		"catch-up":       words(task.CatchUpNone, task.CatchUpLatest, task.CatchUpAll),
		"catch-up-order": words(task.OldestFirst, task.NewestFirst),
		"class":          {"transient", "quota", "auth", "invalid", "bug"},
		"concurrency":    words(task.Parallel, task.Serial, task.Exclusive),
		"exclusive-over": words(task.OverLane, task.OverPlatform, task.OverEverything),
		"log-level":      logLevels,
		"login-state":    {storesettings.TokenOK, storesettings.TokenReauthorise, overview.LoginNone},
		"on-empty":       {"send", "skip", "fail"},
		"on-exists":      {"replace", "version", "refuse"},
		"overlap":        words(task.OverlapSkip, task.OverlapQueue, task.OverlapReplace),
		"tier":           {storesettings.TierActive, storesettings.TierInactive, storesettings.TierInvalid},
		"verify":         {"size", "readback"},
	}
	// stateWords are the values of --state, by command.
	stateWords = map[string][]string{
		"adsync accounts list":     words(overview.AccountPulled, overview.AccountParked, overview.AccountUnbound),
		"adsync fields list":       {"asked", "trying", "off", "retired", "refused"},
		"adsync publications list": PublicationStates,
		"adsync reconcile":         {"open", "mended", "all"},
		"adsync runs list":         RunStates,
		"adsync subtasks due":      words(task.Retrying, task.Deferred),
		"adsync subtasks list":     SubtaskStates,
	}
	// roleWords are the values of --role, by command.
	roleWords = map[string][]string{
		"adsync log-level": {"producer", "consumer", "all"},
		"adsync serve":     {"producer", "consumer", "jobs", "all"},
		"adsync token new": words(httpapi.Viewer, httpapi.Operator, httpapi.Admin),
	}
	logLevels = []string{"debug", "info", "warn", "error"}
)

// words returns texts of one type as strings.
func words[T ~string](all ...T) []string {
	texts := make([]string, len(all))
	for i, w := range all {
		texts[i] = string(w)
	}
	return texts
}

// Complete adds completion to cmd and the commands below it: of fixed words, and of the names of tasks and lanes,
// which come from the API. Only --config, --data, --file, flags that end with -file and the word of restore complete
// files. Other flags and words complete nothing.
func Complete(a *settings.Source, cmd *cobra.Command) {
	path := cmd.CommandPath()
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if complete := flagCompletion(a, path, f); complete != nil {
			// It fails only for a flag that is missing, or has a completion.
			_ = cmd.RegisterFlagCompletionFunc(f.Name, complete)
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
	case "ca-file", "config", "data", "file", "host-key-file", "key-file", "password-file", "query-file":
		return nil // The shell offers files.
	case "live":
		all = engine.PlatformNames()
	case "media":
		if strings.HasPrefix(path, "adsync tasks ") {
			return platformNames(a, upkeep.Name)
		}
		return platformNames(a)
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
		return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return complete(cmd, args, word)
		}
	}
	switch path {
	case "adsync tasks show", "adsync tasks edit", "adsync tasks enable", "adsync tasks disable", "adsync tasks delete",
		"adsync tasks run":
		return first(taskNames(a))
	case "adsync pause", "adsync cancel":
		return stopTargetNames(a)
	case "adsync accounts show", "adsync bind account", "adsync changes", "adsync coverage", "adsync unbind":
		return first(accountBegins(a))
	case "adsync fields add", "adsync fields drop", "adsync fields reinstate":
		return first(cobra.FixedCompletions(engine.PlatformNames(), cobra.ShellCompDirectiveNoFileComp))
	case "adsync limits set":
		return first(platformNames(a))
	case "adsync platforms accounts", "adsync platforms put", "adsync platforms show":
		return first(externalNames(a))
	case "adsync restore":
		return nil // The shell offers files.
	case "adsync log-level":
		return first(cobra.FixedCompletions(logLevels, cobra.ShellCompDirectiveNoFileComp))
	}
	return cobra.NoFileCompletions
}

// stopTargetNames completes KIND TARGET.
func stopTargetNames(a *settings.Source) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		switch {
		case len(args) == 0:
			return []string{"run", "task", "account", "media"}, cobra.ShellCompDirectiveNoFileComp
		case len(args) > 1:
		case args[0] == "task":
			return taskNames(a)(cmd, args, word)
		case args[0] == "media":
			return platformNames(a)(cmd, args, word)
		case args[0] == "account":
			return accountBegins(a)(cmd, args, word)
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// accountBegins completes the platform of an account. The ids are too many to offer.
func accountBegins(a *settings.Source) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		names, _ := platformNames(a)(cmd, args, word)
		for i := range names {
			names[i] += "/"
		}
		return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// platformNames completes the platforms, those without Go code and more included.
func platformNames(a *settings.Source, more ...string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		external, directive := externalNames(a)(cmd, args, word)
		return slices.Concat(engine.PlatformNames(), external, more), directive
	}
}

// externalNames completes the platforms without Go code.
func externalNames(a *settings.Source) cobra.CompletionFunc {
	return wordsOfAPI(a, func(ctx context.Context, c api.Producer) (all []string, err error) {
		answer, err := c.ListExternalPlatforms(ctx)
		for i := range answer.Platforms {
			all = append(all, answer.Platforms[i].Media)
		}
		return all, err
	})
}

func taskNames(a *settings.Source) cobra.CompletionFunc {
	return taskWords(a, func(k *client.Task) []string { return []string{k.Name} })
}

// taskWords completes words of the tasks.
func taskWords(a *settings.Source, of func(*client.Task) []string) cobra.CompletionFunc {
	return wordsOfAPI(a, func(ctx context.Context, c api.Producer) (all []string, err error) {
		answer, err := c.ListTasks(ctx)
		for i := range answer.Tasks {
			all = append(all, of(&answer.Tasks[i])...)
		}
		return all, err
	})
}

// wordsOfAPI completes words from the API. After an error it offers nothing: a completion cannot show one.
func wordsOfAPI(
	a *settings.Source, read func(context.Context, api.Producer) ([]string, error),
) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		// Without the flag, the address comes from the environment or the configuration.
		server, _ := cmd.Flags().GetString("server")
		var found []string
		c, err := api.Reach(a, cmd, server)
		if err == nil {
			found, err = read(ctx, c)
		}
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var all []string
		for _, name := range found {
			if name = table.Clean(name); name != "" && strings.HasPrefix(name, word) {
				all = append(all, name)
			}
		}
		slices.Sort(all)
		return slices.Compact(all), cobra.ShellCompDirectiveNoFileComp
	}
}
