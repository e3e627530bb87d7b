package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"adsync/producer/overview"
)

func (a *app) newOverview() *cobra.Command {
	f := &apiFlags{}
	cmd := &cobra.Command{
		Use:   "overview",
		Short: "Tells how everything stands, and what needs attention",
		Long: `Tells in short what the first page shows: what each platform's accounts spent today beside what the platform says, how many accounts are
fresh, late and parked, and what needs attention, the worst first, with its cause, the accounts and the money concerned, and what mends it.`,
		Example: `  adsync overview
  adsync overview --output json | jq '.attention[] | select(.severity == "bad")'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.call(a, cmd, http.MethodGet, "/api/v1/overview", nil, nil, printOverview)
		},
	}
	f.common(cmd.Flags())
	return cmd
}

type attentionRow struct {
	Severity, Media, Title, Cause string
	Accounts                      int
	AtLeast                       bool `json:"at_least"`
	Examples                      []string
	Money                         []struct {
		Currency string
		Micros   int64
	}
	MoneyOf         string `json:"money_of"`
	Since           time.Time
	Remedy, Command string
}

func printOverview(w io.Writer, answer []byte) error {
	var o struct {
		At        time.Time
		Troubles  []struct{ What, Why string }
		Attention []attentionRow
		Media     []mediaRow
	}
	if err := json.Unmarshal(answer, &o); err != nil {
		return err
	}
	if o.At.IsZero() {
		fmt.Fprintln(w, "The tables could not be read yet.")
	} else {
		fmt.Fprintf(w, "As of %s.\n", moment(o.At))
	}
	for _, t := range o.Troubles {
		fmt.Fprintf(w, "It is incomplete: %s: %s\n", plain(t.What), clean(t.Why))
	}
	if len(o.Media) > 0 {
		t := table(w)
		fmt.Fprintln(t, "\nMEDIA\tACCOUNTS\tFRESH\tLATE\tQUIET\tPARKED\tOLDEST\tSPENT TODAY\tPLATFORM SAYS\tDIFFERENCE")
		for i := range o.Media {
			o.Media[i].print(t)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	if len(o.Attention) == 0 {
		said := "\nNothing needs attention."
		if len(o.Troubles) > 0 {
			said = "\nNothing needs attention, as far as is known."
		}
		_, err := fmt.Fprintln(w, said)
		return err
	}
	for i := range o.Attention {
		if err := o.Attention[i].print(w); err != nil {
			return err
		}
	}
	return nil
}

type mediaRow struct {
	Name  string
	Spend []struct {
		Currency, Zone, Day string
		Ours                int64
		Theirs              *int64
	}
	Accounts, Pulled, Fresh, Late, Quiet, Parked int
	OldestSeconds                                float64 `json:"oldest_seconds"`
}

// print writes a line for each currency and time zone.
func (m *mediaRow) print(w io.Writer) {
	oldest := "never pulled"
	switch {
	case m.Pulled == 0:
		oldest = "-"
	case m.OldestSeconds >= 0:
		oldest = (time.Duration(m.OldestSeconds) * time.Second).String()
	}
	who := fmt.Sprintf("%s\t%d\t%d\t%d\t%d\t%d\t%s", plain(m.Name), m.Accounts, m.Fresh, m.Late, m.Quiet, m.Parked, oldest)
	if len(m.Spend) == 0 {
		fmt.Fprintf(w, "%s\t-\t-\t-\n", who)
	}
	for _, s := range m.Spend {
		theirs, difference := "unknown", "-"
		if s.Theirs != nil {
			theirs, difference = overview.Amount(*s.Theirs), overview.Amount(s.Ours-*s.Theirs)
			if *s.Theirs != 0 {
				difference = fmt.Sprintf("%+.2f %%", 100*float64(s.Ours-*s.Theirs)/float64(*s.Theirs))
			}
		}
		fmt.Fprintf(w, "%s\t%s %s\t%s\t%s\n", who, plain(s.Currency), overview.Amount(s.Ours), theirs, difference)
		who = "\t\t\t\t\t\t"
	}
}

// print writes an item with what belongs to it, one below the other.
func (a *attentionRow) print(w io.Writer) error {
	title := strings.ToUpper(plain(a.Severity)) + "  " + clean(a.Title)
	if a.Media != "" {
		title += " (" + plain(a.Media) + ")"
	}
	fmt.Fprintf(w, "\n%s\n", title)
	var money []string
	for _, m := range a.Money {
		money = append(money, m.Currency+" "+overview.Amount(m.Micros))
	}
	accounts := ""
	if a.Accounts > 0 {
		accounts = fmt.Sprintf("%d: %s", a.Accounts, strings.Join(a.Examples, ", "))
		if a.AtLeast {
			accounts = "at least " + accounts
		}
		if len(a.Examples) < a.Accounts {
			accounts += " …"
		}
	}
	stake := strings.Join(money, " and ")
	if stake != "" && a.MoneyOf != "" {
		stake += " (" + a.MoneyOf + ")"
	}
	since := ""
	if !a.Since.IsZero() {
		since = moment(a.Since)
	}
	t := table(w)
	for _, l := range [][2]string{{"cause", a.Cause}, {"accounts", accounts}, {"money", stake}, {"since", since}, {"remedy", a.Remedy}, {"command", a.Command}} {
		if l[1] != "" {
			fmt.Fprintf(t, "  %s\t%s\n", l[0], clean(l[1]))
		}
	}
	return t.Flush()
}
