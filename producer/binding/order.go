package binding

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"adsync/base/config"
	"adsync/base/day"
	"adsync/base/store/summaries"
	"adsync/client"
)

// Order says to which game an account belongs, on which days, and with which login it is pulled. It is the body of a
// request.
type Order client.BindRequest

// systems are what games run on.
var systems = []string{"ios", "android", "pc"}

// The columns' lengths.
const (
	gameMax     = 64
	gameNameMax = 255
)

// Check returns what is wrong with the order, by the names of its fields. now is the present moment.
func (o Order) Check(now time.Time) (wrong []*config.FieldError) {
	refuse := func(key, value, format string, args ...any) {
		wrong = append(wrong, &config.FieldError{Key: key, Value: value, Want: fmt.Sprintf(format, args...)})
	}
	switch {
	case o.Game == "" && (o.OS != "" || o.GameName != "" || o.From != "" || o.To != "" || o.Correct):
		refuse("game", "", "the code of a game: an os, a name and days need one")
	case o.Game != "" && o.OS == "":
		refuse("os", "", "%s: game and os go together", list(systems))
	case o.OS != "" && !slices.Contains(systems, o.OS):
		refuse("os", o.OS, "%s", list(systems))
	}
	for _, text := range []struct {
		key, value string
		most       int
	}{{"game", o.Game, gameMax}, {"game_name", o.GameName, gameNameMax}} {
		if strings.TrimSpace(text.value) != text.value || utf8.RuneCountInString(text.value) > text.most {
			refuse(text.key, text.value, "up to %d characters, without blanks around them", text.most)
		}
	}
	for _, d := range [][2]string{{"from", o.From}, {"to", o.To}} {
		if d[1] == "" || d[1] == summaries.LastDay.String() && d[0] == "to" {
			continue
		}
		if _, err := day.GivenAhead(d[1], now); err != nil {
			refuse(d[0], d[1], "%s", strings.TrimPrefix(err.Error(), "want "))
		}
	}
	switch {
	case o.Correct && (o.From != "" || o.To != ""):
		refuse("correct", "", "it without from and to: it rewrites the days of the present binding")
	case o.To != "" && o.From == "":
		refuse("from", "", "the first day in addition to the last one")
	case o.To != "" && o.To < o.From:
		refuse("to", o.To, "%s or later", o.From)
	}
	return wrong
}

// IsNew reports whether the order's game is a new one. A new one has a name: a mistyped code must not become a game,
// and is refused with a *config.FieldError.
func (o Order) IsNew(ctx context.Context, s interface {
	Games(ctx context.Context) ([]string, error)
}) (bool, error) {
	if o.Game == "" {
		return false, nil
	}
	codes, err := s.Games(ctx)
	if err != nil || slices.Contains(codes, o.Game) {
		return false, err
	}
	if o.GameName == "" {
		return false, &config.FieldError{Key: "game", Value: o.Game, Want: "one of " + strings.Join(codes, ", ") +
			", or a new one with its name in game_name"}
	}
	return true, nil
}

// list names words to choose from.
func list(words []string) string {
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// binding returns what is to hold, on which days. The first game of an account holds for all its figures, another one
// from today on.
func (o Order) binding(have []summaries.Binding, today day.Day) summaries.Binding {
	b := summaries.Binding{From: cmp.Or(day.Day(o.From), today), To: cmp.Or(day.Day(o.To), summaries.LastDay),
		Game: o.Game, OS: o.OS}
	switch {
	case len(have) == 0 && o.From == "":
		b.From = summaries.FirstBoundDay
	case o.Correct:
		wrong, ok := summaries.BindingOn(have, today)
		if !ok {
			wrong = have[len(have)-1]
		}
		b.From, b.To = wrong.From, wrong.To
	}
	return b
}

// pulls reports whether the order has the account pulled. What is said of past days alone, or of the login alone,
// does not.
func (o Order) pulls(today day.Day) bool {
	return !o.Correct && (o.To == "" || day.Day(o.To) >= today) && (o.Game != "" || o.Login == "")
}
