package operate

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"adsync/base/strictjson"
	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/prompt"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/usage"
)

func newDestinationsPut(a *settings.Source) *cobra.Command {
	var files destinationFiles
	cmd := api.Command(a, &cobra.Command{
		Use:   "put NAME",
		Short: "Makes a destination, or changes one",
		Long: `Makes a destination, or changes one; what is not given stays. The password and the key come from files, or with
- from standard input, and never from the command line. The keys of an SFTP server are required: ssh-keyscan prints
them with the name of the host before each, which is to be removed. An empty file removes host keys or certificates.
Files that are being delivered use the new settings from their next try on.`,
		Example: `  adsync destinations put depot --kind dir --address /srv/reports
  adsync destinations put partner --kind sftp --address files.example.com:22 --login adsync \
    --key-file id_ed25519 --host-key-file partner.pub --prefix incoming
  adsync destinations put lake --kind s3 --address https:///reports --login AKIA0000 --password-file - \
    --options '{"region": "eu-central-1"}'`,
		Args: destinationArg,
	}, func(r *api.Request, args []string) error {
		body, err := destinationBody(r, &files)
		if err != nil {
			return err
		}
		if len(body) == 0 {
			return usage.Errorf("nothing is to be changed: give a field, such as --address")
		}
		return api.Send(r, http.MethodPut, destinationPath(args[0]), body, show.Destination)
	})
	flags := cmd.Flags()
	for _, f := range destinationTexts {
		flags.String(f[0], "", f[1])
		api.AllowEmpty(cmd, f[0])
	}
	flags.String("options", "", `its options as JSON, such as '{"connections": 2}'; they replace all options`)
	flags.Bool("enabled", false, "whether files are delivered to it; =false lets them wait")
	flags.Bool("no-credentials", false, "remove its password and its key")
	flags.StringVar(&files.password, "password-file", "",
		"a file with the password, the passphrase of the key, or the secret key of s3; - for standard input or the terminal")
	flags.StringVar(&files.key, "key-file", "", "a file with the private key of sftp in PEM form; - for standard input")
	flags.StringVar(&files.hostKey, "host-key-file", "",
		"a file with the keys of the sftp server, one a line, such as ssh-ed25519 AAAA…; - for standard input")
	flags.StringVar(&files.ca, "ca-file", "",
		"a file with the certificates in PEM form that sign that of the ftps or s3 server; - for standard input")
	return cmd
}

// destinationTexts are the fields of a destination that are texts, by the names of their flags. Each may be empty.
var destinationTexts = [][2]string{
	{"kind", "s3, sftp, ftp, ftps or dir"},
	{"address", "host:port; of s3 https://host/bucket, or https:///bucket for AWS; of dir an absolute path"},
	{"prefix", "the directory of all files there"},
	{"login", "the user, or the id of the access key of s3"},
}

// destinationFiles are the files with fields of a destination that are secret or long.
type destinationFiles struct{ password, key, hostKey, ca string }

// destinationBody reads the flags and the files into the fields of a request.
func destinationBody(r *api.Request, files *destinationFiles) (map[string]any, error) {
	body := map[string]any{}
	flags := r.Flags()
	for _, f := range destinationTexts {
		if flags.Changed(f[0]) {
			body[f[0]], _ = flags.GetString(f[0]) // It is one.
		}
	}
	if text, _ := flags.GetString("options"); text != "" {
		options := map[string]any{}
		if err := strictjson.Unmarshal([]byte(text), &options); err != nil {
			return nil, usage.Errorf("--options is %q: %v: want a JSON object, such as {\"connections\": 2}", text, err)
		}
		body["options"] = json.RawMessage(text)
	}
	if flags.Changed("enabled") {
		body["enabled"], _ = flags.GetBool("enabled")
	}
	if remove, _ := flags.GetBool("no-credentials"); remove {
		if files.password != "" || files.key != "" {
			return nil, usage.Errorf("--no-credentials does not go with --password-file and --key-file")
		}
		body["password"], body["key"] = "", ""
	}
	return body, readDestinationFiles(r, files, body)
}

// readDestinationFiles adds the contents of files to the fields of a request. No error has a part of a secret.
func readDestinationFiles(r *api.Request, files *destinationFiles, body map[string]any) error {
	fromInput := 0
	for _, f := range []struct {
		field, file string
		secret      bool
	}{
		{"password", files.password, true}, {"key", files.key, true}, {"host_key", files.hostKey, false},
		{"ca", files.ca, false},
	} {
		if f.file == "" {
			continue
		}
		if f.file == "-" {
			fromInput++
		}
		if fromInput > 1 {
			return usage.Errorf("only one file can be - (standard input)")
		}
		text, err := readDestinationFile(r, f.field, f.file)
		if err != nil {
			return err
		}
		if f.secret && text == "" {
			return usage.Errorf("the %s is empty: want one, or --no-credentials to remove it", f.field)
		}
		body[f.field] = text
	}
	return nil
}

// readDestinationFile reads one file. A password is one line.
func readDestinationFile(r *api.Request, field, file string) (string, error) {
	if field != "password" {
		text, err := readFile(r.InOrStdin(), file)
		return string(text), err
	}
	if _, terminal := prompt.Terminal(r.InOrStdin()); file == "-" && terminal {
		answer, err := prompt.Secret(r.Context(), r.Command, "The password")
		return answer.Reveal(), err
	}
	text, err := readFile(r.InOrStdin(), file)
	return strings.TrimRight(string(text), "\r\n"), err
}
