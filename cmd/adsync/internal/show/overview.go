package show

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"adsync/base/money"
	"adsync/base/plural"
	"adsync/client"
	"adsync/cmd/adsync/internal/table"
)

// Overview prints the state of all platforms, and what needs attention.
func Overview(w io.Writer, o *client.Overview) error {
	if o.At.IsZero() {
		fmt.Fprintln(w, "The tables could not be read yet.")
	} else {
		fmt.Fprintf(w, "As of %s.\n", table.Moment(o.At))
	}
	for _, t := range o.Troubles {
		fmt.Fprintf(w, "It is incomplete: %s: %s\n", table.Plain(t.What), table.Clean(t.Why))
	}
	if len(o.Media) > 0 {
		fmt.Fprintln(w)
		if err := spends.print(w, mediaSpends(o.Media)); err != nil {
			return err
		}
		for i := range o.Media {
			if m := &o.Media[i]; m.FirstPull {
				fmt.Fprintf(w, "%s: first pull under way, %d of %s.\n", table.Plain(m.Name), m.Pulled-m.New,
					plural.Count(m.Pulled, "account", "accounts"))
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
		if err := attention(w, &o.Attention[i]); err != nil {
			return err
		}
	}
	return nil
}

// mediaSpend is what one platform's accounts of one currency and time zone spent.
type mediaSpend struct {
	*client.MediaOverview
	spend *client.Spend
	first bool // of those of the platform
}

func mediaSpends(media []client.MediaOverview) (rows []mediaSpend) {
	for i := range media {
		m := &media[i]
		if len(m.Spend) == 0 {
			rows = append(rows, mediaSpend{m, nil, true})
		}
		for k := range m.Spend {
			rows = append(rows, mediaSpend{m, &m.Spend[k], k == 0})
		}
	}
	return rows
}

var spends = slices.Concat(
	columns[mediaSpend]{
		{"MEDIA", func(m *mediaSpend) any { return m.Name }},
		{"ACCOUNTS", func(m *mediaSpend) any { return m.Accounts }},
		{"FRESH", func(m *mediaSpend) any { return m.Fresh }},
		{"LATE", func(m *mediaSpend) any { return m.Late }},
		{"NEW", func(m *mediaSpend) any { return m.New }},
		{"QUIET", func(m *mediaSpend) any { return m.Quiet }},
		{"PARKED", func(m *mediaSpend) any { return m.Parked }},
		{"OLDEST", func(m *mediaSpend) any {
			switch {
			case m.Pulled == 0:
				return ""
			case m.OldestSeconds < 0:
				return "never pulled"
			}
			return (time.Duration(m.OldestSeconds) * time.Second).String()
		}},
	}.blankIf(func(m *mediaSpend) bool { return !m.first }),
	columns[mediaSpend]{
		{"SPENT TODAY", func(m *mediaSpend) any {
			if m.spend == nil {
				return ""
			}
			return m.spend.Currency + " " + money.Format(m.spend.Ours, m.spend.Currency)
		}},
		{"PLATFORM SAYS", func(m *mediaSpend) any {
			switch {
			case m.spend == nil:
				return ""
			case m.spend.Theirs == nil:
				return "unknown"
			}
			return money.Format(*m.spend.Theirs, m.spend.Currency)
		}},
		{"DIFFERENCE", func(m *mediaSpend) any {
			if m.spend == nil || m.spend.Theirs == nil {
				return ""
			}
			ours, theirs := m.spend.Ours, *m.spend.Theirs
			if theirs == 0 {
				return money.Format(ours, m.spend.Currency)
			}
			return fmt.Sprintf("%+.2f %%", 100*float64(ours-theirs)/float64(theirs))
		}},
	},
)

// amounts returns the amounts of some currencies in words.
func amounts(all []client.Money) string {
	words := make([]string, len(all))
	for i, m := range all {
		words[i] = m.Currency + " " + money.Format(m.Micros, m.Currency)
	}
	return strings.Join(words, " and ")
}

// attention prints an item with its fields below.
func attention(w io.Writer, a *client.Attention) error {
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
	for _, l := range [][2]string{{"cause", a.Cause}, {"accounts", accounts}, {"money", stake}, {"since", since},
		{"remedy", a.Remedy}, {"command", a.Command}} {
		if l[1] != "" {
			t.Pairs("  "+l[0], table.Whole(l[1]))
		}
	}
	return t.Flush()
}
