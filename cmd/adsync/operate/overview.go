package operate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"adsync/base/plural"
	"adsync/client"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
	"adsync/producer/overview"
)

func newOverview(a *settings.Source) *cobra.Command {
	var wait bool
	var timeout time.Duration
	cmd := asking(a, &cobra.Command{
		Use:   "overview",
		Short: "Tells how everything stands, and what needs attention",
		Long: `Tells in short what the first page shows: what each platform's accounts spent today beside what the platform says, how many accounts are
fresh, late, new and parked, and what needs attention, the worst first, with its cause, the accounts and the money concerned, and what mends it.

With --wait it first waits until the producer answers and each account that is pulled all the time has figures of today in the summaries. It
exits 1 if that does not come about within --timeout.`,
		Example: `  adsync overview
  adsync overview --wait
  adsync overview --output json | jq '.attention[] | select(.severity == "bad")'`,
	}, func(r *request, _ []string) error {
		if wait {
			c, err := r.client()
			if err != nil {
				return err
			}
			if err := awaitFirstPull(r.Context(), c, timeout); err != nil {
				return err
			}
		}
		return r.get("/api/v1/overview", printing(printOverview))
	})
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until each account has figures of today")
	cmd.Flags().DurationVar(&timeout, "timeout", 10*time.Minute, "with --wait: for how long at most")
	return cmd
}

// awaitFirstPull asks for the overview until the figures of today of all accounts are in the summaries. A producer that is still
// starting is waited for.
func awaitFirstPull(ctx context.Context, c producer, timeout time.Duration) error {
	waiting, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	missing := ""
	for {
		now, err := missingFigures(waiting, c)
		if now == "" && err == nil {
			return nil
		}
		if _, away := errors.AsType[*client.AwayError](err); err != nil && !away {
			return err
		}
		switch {
		case err == nil:
			missing = now
		case missing == "" || waiting.Err() == nil: // A call that the timeout has cut off tells less than the one before.
			missing = err.Error()
		}
		select {
		case <-waiting.Done():
			return fmt.Errorf("the figures of today are not whole after %s: %s", timeout, missing)
		case <-ticker.C:
		}
	}
}

// missingFigures returns what of the figures of today is missing, or nothing.
func missingFigures(ctx context.Context, c producer) (string, error) {
	o, err := c.GetOverview(ctx)
	if err != nil {
		return "", withRemedy(err)
	}
	missing, pulled := "", client.Count(0)
	for i := range o.Media {
		m := &o.Media[i]
		pulled += m.Pulled
		switch {
		case m.FirstPull:
			missing = fmt.Sprintf("the first pull of %s is under way, %d of %s", table.Plain(m.Name), m.Pulled-m.New, plural.Count(m.Pulled, "account", "accounts"))
		case m.Pulled > 0 && m.OldestSeconds < 0:
			missing = "an account of " + table.Plain(m.Name) + " was never pulled today"
		}
	}
	switch {
	case o.At.IsZero():
		return "the producer cannot read its tables yet", nil
	case pulled == 0:
		return "no account is pulled yet", nil
	}
	return missing, nil
}

func printOverview(w io.Writer, o *client.Overview) error {
	if o.At.IsZero() {
		fmt.Fprintln(w, "The tables could not be read yet.")
	} else {
		fmt.Fprintf(w, "As of %s.\n", table.Moment(o.At))
	}
	for _, t := range o.Troubles {
		fmt.Fprintf(w, "It is incomplete: %s: %s\n", table.Plain(t.What), table.Clean(t.Why))
	}
	if len(o.Media) > 0 {
		t := table.New(w)
		t.Head("\nMEDIA\tACCOUNTS\tFRESH\tLATE\tNEW\tQUIET\tPARKED\tOLDEST\tSPENT TODAY\tPLATFORM SAYS\tDIFFERENCE")
		for i := range o.Media {
			printMedia(t, &o.Media[i])
		}
		if err := t.Flush(); err != nil {
			return err
		}
		for i := range o.Media {
			if m := &o.Media[i]; m.FirstPull {
				fmt.Fprintf(w, "%s: first pull under way, %d of %s.\n", table.Plain(m.Name), m.Pulled-m.New, plural.Count(m.Pulled, "account", "accounts"))
			}
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
		if err := printAttention(w, &o.Attention[i]); err != nil {
			return err
		}
	}
	return nil
}

// printMedia writes a line for each currency and time zone.
func printMedia(t table.Table, m *client.MediaOverview) {
	oldest := "never pulled"
	switch {
	case m.Pulled == 0:
		oldest = "-"
	case m.OldestSeconds >= 0:
		oldest = (time.Duration(m.OldestSeconds) * time.Second).String()
	}
	who := []any{m.Name, m.Accounts, m.Fresh, m.Late, m.New, m.Quiet, m.Parked, oldest}
	if len(m.Spend) == 0 {
		t.Row(append(who, "-", "-", "-")...)
	}
	for _, s := range m.Spend {
		theirs, difference := "unknown", "-"
		if s.Theirs != nil {
			theirs, difference = overview.Amount(*s.Theirs), overview.Amount(s.Ours-*s.Theirs)
			if *s.Theirs != 0 {
				difference = fmt.Sprintf("%+.2f %%", 100*float64(s.Ours-*s.Theirs)/float64(*s.Theirs))
			}
		}
		t.Row(append(who, s.Currency+" "+overview.Amount(s.Ours), theirs, difference)...)
		who = []any{"", "", "", "", "", "", "", ""}
	}
}

// amounts are the amounts of some currencies in words.
func amounts(money []client.Money) string {
	words := make([]string, len(money))
	for i, m := range money {
		words[i] = m.Currency + " " + overview.Amount(m.Micros)
	}
	return strings.Join(words, " and ")
}

// printAttention writes an item with what belongs to it, one below the other.
func printAttention(w io.Writer, a *client.Attention) error {
	title := strings.ToUpper(table.Plain(a.Severity)) + "  " + table.Clean(a.Title)
	if a.Media != "" {
		title += " (" + table.Plain(a.Media) + ")"
	}
	fmt.Fprintf(w, "\n%s\n", title)
	accounts := ""
	if a.Accounts > 0 {
		accounts = fmt.Sprintf("%d: %s", a.Accounts, strings.Join(a.Examples, ", "))
		if a.AtLeast {
			accounts = "at least " + accounts
		}
		if client.Count(len(a.Examples)) < a.Accounts {
			accounts += " …"
		}
	}
	stake := amounts(a.Money)
	if stake != "" && a.MoneyOf != "" {
		stake += " (" + a.MoneyOf + ")"
	}
	since := ""
	if !a.Since.IsZero() {
		since = table.Moment(a.Since)
	}
	t := table.New(w)
	for _, l := range [][2]string{{"cause", a.Cause}, {"accounts", accounts}, {"money", stake}, {"since", since}, {"remedy", a.Remedy}, {"command", a.Command}} {
		if l[1] != "" {
			t.Pairs("  "+l[0], table.Whole(l[1]))
		}
	}
	return t.Flush()
}
