package show

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"adsync/client"
	"adsync/cmd/adsync/internal/table"
)

// Destinations prints the places where report files are delivered.
var Destinations = List[client.Destination]{
	Rows: "destinations",
	none: "There are no destinations.",
	columns: columns[client.Destination]{
		{"DESTINATION", func(d *client.Destination) any { return d.Name }},
		{"KIND", func(d *client.Destination) any { return d.Kind }},
		{"ADDRESS", func(d *client.Destination) any { return d.Address }},
		{"PREFIX", func(d *client.Destination) any { return d.Prefix }},
		{"STATE", func(d *client.Destination) any { return onOrOff(d.Enabled) }},
		{"SUBSCRIPTIONS", func(d *client.Destination) any { return len(d.Subscriptions) }},
	},
}

// Destination prints one destination. Its credentials are never part of an answer.
func Destination(w io.Writer, d *client.Destination) error {
	options, err := json.Marshal(d.Options)
	if err != nil {
		return err
	}
	credentials := "none"
	if d.HasCredentials {
		credentials = "stored, and not shown"
	}
	t := table.New(w)
	t.Pairs("destination", d.Name, "kind", d.Kind, "address", d.Address, "prefix", d.Prefix, "login", d.Login,
		"credentials", credentials, "host keys", table.Whole(strings.ReplaceAll(strings.TrimSpace(d.HostKey), "\n", "; ")))
	certificates := "those of the system"
	if d.Ca != "" {
		certificates = fmt.Sprintf("%d stored", strings.Count(d.Ca, "-----BEGIN "))
	}
	t.Pairs("certificates", certificates, "options", table.Whole(options), "state", onOrOff(d.Enabled), "subscriptions",
		table.Whole(strings.Join(d.Subscriptions, ", ")))
	return t.Flush()
}

// DeletedDestination prints a destination that was deleted.
func DeletedDestination(w io.Writer, d *client.Destination) error {
	_, err := fmt.Fprintf(w, "Deleted the destination %s. The files there stay.\n", table.Plain(d.Name))
	return err
}

// DestinationTest prints that a destination can be used, or returns why not.
func DestinationTest(w io.Writer, d *client.DestinationTest) error {
	if !d.Ok {
		return errors.New("the destination cannot be used: " + table.Clean(d.Detail))
	}
	_, err := fmt.Fprintln(w, table.Clean(d.Detail))
	return err
}

func onOrOff(enabled bool) string {
	if enabled {
		return "on"
	}
	return "off"
}
