package operate

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"adsync/base/strictjson"
	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/usage"
)

func newSubscriptionsPut(a *settings.Source) *cobra.Command {
	var file, query, secretFile string
	cmd := api.Command(a, &cobra.Command{
		Use:   "put NAME",
		Short: "Makes a subscription, or changes one",
		Long: `Makes a subscription, or changes one; what is not given stays, and a new one has defaults. The fields come from
a file in YAML or JSON, as "adsync subscriptions show --output json" prints them, or from flags, which win. The query
may be in a file of its own; --files names files that are read instead. The row is checked before it is stored: its
query, its path, and whether another subscription could write the same file. New moments of the cron make files from
now on; "adsync publications order" orders past days.`,
		Example: `  adsync subscriptions put spend --file spend.yaml
  adsync subscriptions put spend --query-file spend.sql --format '{"format": "csv"}' --path 'spend/{day}{ext}' \
    --destination depot --cron '30 9 * * *' --timezone Asia/Shanghai
  adsync subscriptions put spend --enabled=false`,
		Args: subscriptionArg,
	}, func(r *api.Request, args []string) error {
		if secretFile == "-" && (file == "-" || query == "-") {
			return usage.Errorf("only one file can be - (standard input)")
		}
		body, err := subscriptionBody(r, args[0], file, query)
		if err != nil {
			return err
		}
		if secretFile != "" {
			text, err := readFile(r.InOrStdin(), secretFile)
			if err != nil {
				return err
			}
			if body["webhook_secret"] = strings.TrimRight(string(text), "\r\n"); body["webhook_secret"] == "" {
				return usage.Errorf("--webhook-secret-file %s is empty: want 16 bytes or more", secretFile)
			}
		}
		if len(body) == 0 {
			return usage.Errorf("nothing is to be changed: give a field, such as --cron, or --file")
		}
		return api.Send(r, http.MethodPut, subscriptionPath(args[0]), body, show.Subscription)
	})
	flags := cmd.Flags()
	flags.StringVar(&file, "file", "", "a file with the subscription in YAML or JSON, or - for standard input; flags win")
	flags.StringVar(&query, "query-file", "", "a file with the query, or - for standard input")
	flags.StringVar(&secretFile, "webhook-secret-file", "",
		"a file with the secret that signs the calls of the webhook, 16 bytes or more; - for standard input")
	for _, f := range subscriptionFields {
		switch f.kind {
		case "number":
			flags.Int64(f.flag, 0, f.usage)
		case "switch":
			flags.Bool(f.flag, false, f.usage)
		default:
			flags.String(f.flag, "", f.usage)
			if f.kind == "text" {
				api.AllowEmpty(cmd, f.flag)
			}
		}
	}
	return cmd
}

// subscriptionFields are the fields of a subscription that can be set by flags. The JSON name has _ for each -.
var subscriptionFields = []struct {
	flag, usage string
	kind        string // text, number, switch or json
}{
	{"format", `the format and its options as JSON, such as '{"format": "csv", "gzip": true}'; they replace all of them`,
		"json"},
	{"files", `the Parquet or ORC files that its rows come from instead of a query, as JSON, such as ` +
		`'{"destination": "lake", "path": "sales/{day}/*"}'`, "json"},
	{"path", "the name of the files below the destination, such as 'spend/{day}{ext}'", "text"},
	{"destination", "the destination's name", "text"},
	{"cron", "when files are due, such as '30 9 * * *'", "text"},
	{"timezone", "the zone of the cron and of the days, such as Asia/Shanghai", "text"},
	{"period", "the days of a file: day, week, month, or days:N", "text"},
	{"scope", `whose rows the query reads as JSON, such as '{"games": ["starfall"]}'; {} for all`, "json"},
	{"completeness", `what a file waits for as JSON, such as '{"when": "complete", "latest_minutes": 720}'`, "json"},
	{"corrections", `whether revisions follow as JSON, such as '{"every_minutes": 60, "days": 7}'`, "json"},
	{"on-empty", "a period without rows: send, skip or fail", "text"},
	{"on-exists", "a file of the name: replace, version or refuse", "text"},
	{"verify", "how an upload is compared: size or readback", "text"},
	{"manifest", "whether a manifest follows each file; =false for none", "switch"},
	{"rows-max", "how many rows a file may have; 0 = 100 million", "number"},
	{"lane", "a lane of system, such as large_files; empty: by the size of the file", "text"},
	{"owner", "who is responsible for it", "text"},
	{"customer", "who gets it", "text"},
	{"application", "the application that gets a message when a file is delivered or has failed; empty: none", "text"},
	{"webhook", "the https address that is called when a file is published; empty: none", "text"},
	{"enabled", "whether its cron makes files; =false switches it off", "switch"},
}

// subscriptionShownOnly are what "adsync subscriptions show" prints in addition to the fields of a request.
var subscriptionShownOnly = []string{"since", "error", "has_webhook_secret"}

// subscriptionBody reads the files and the flags into the fields of a request.
func subscriptionBody(r *api.Request, name, file, query string) (map[string]any, error) {
	body := map[string]any{}
	if file == "-" && query == "-" {
		return nil, usage.Errorf("only one file can be - (standard input)")
	}
	if file != "" {
		text, err := readFile(r.InOrStdin(), file)
		if err != nil {
			return nil, err
		}
		if err := yaml.Unmarshal(text, &body); err != nil {
			return nil, usage.Errorf("--file %s is not a subscription: %v", file, err)
		}
		if of, ok := body["name"]; ok && of != name {
			return nil, usage.Errorf("--file %s is the subscription %v: want %s, or no name in the file", file, of, name)
		}
		maps.DeleteFunc(body, func(field string, _ any) bool {
			return field == "name" || slices.Contains(subscriptionShownOnly, field)
		})
	}
	if query != "" {
		text, err := readFile(r.InOrStdin(), query)
		if err != nil {
			return nil, err
		}
		body["query"] = string(text)
	}
	return body, addSubscriptionFlags(r, body)
}

// addSubscriptionFlags adds the flags that were given to the fields of a request.
func addSubscriptionFlags(r *api.Request, body map[string]any) (err error) {
	flags := r.Flags()
	for _, f := range subscriptionFields {
		if !flags.Changed(f.flag) {
			continue
		}
		var value any
		switch f.kind {
		case "number":
			value, err = flags.GetInt64(f.flag)
		case "switch":
			value, err = flags.GetBool(f.flag)
		case "json":
			text, _ := flags.GetString(f.flag)
			if err := strictjson.Unmarshal([]byte(text), &map[string]any{}); err != nil {
				return usage.Errorf("--%s is %q: %v: want a JSON object", f.flag, text, err)
			}
			value = json.RawMessage(text)
		default:
			value, err = flags.GetString(f.flag)
		}
		if err != nil {
			return err
		}
		body[strings.ReplaceAll(f.flag, "-", "_")] = value
	}
	return nil
}
